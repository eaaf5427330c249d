template <typename T>
__global__ void column_sums_reference(float* y, const T* x, int rows, int columns) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (column >= columns) return;
  double sum = 0;
  for (int row = 0; row < rows; ++row) sum += x[row * columns + column];
  y[column] = sum;
}
