// y[j] = the sum over i of x[i][j]. ATOMIC 0: one block per BLOCK columns overwrites y. ATOMIC 1: each block adds a slice of the rows to
// y, which must hold zeros before every launch, in whatever order the blocks come.
template <typename T, int BLOCK, int ATOMIC>
__global__ void column_sums(float* y, const T* x, int rows, int columns) {
  const int column = blockIdx.x * BLOCK + threadIdx.x;
  if (column >= columns) return;
  const int first = ATOMIC ? blockIdx.y * 16 : 0;
  const int last = ATOMIC && first + 16 < rows ? first + 16 : rows;
  float sum = 0;
  for (int row = first; row < last; ++row) sum += static_cast<float>(x[row * columns + column]);
  if (ATOMIC) atomicAdd(&y[column], sum);
  else y[column] = sum;
}
