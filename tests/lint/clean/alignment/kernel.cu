// y = 2 x + 1, VEC elements per thread by one access, the rest at the end.
template <int VEC>
struct alignas(VEC * sizeof(float)) vector {
  float element[VEC];
};

template <int BLOCK, int VEC>
__global__ void alignment(float* y, const float* x, long long n) {
  const long long index = static_cast<long long>(blockIdx.x) * BLOCK + threadIdx.x;
  const long long first = 0;
  const long long vectors = (n - first) / VEC;
  if (index < vectors) {
    vector<VEC> values = reinterpret_cast<const vector<VEC>*>(x + first)[index];
    for (int i = 0; i < VEC; ++i) values.element[i] = 2 * values.element[i] + 1;
    reinterpret_cast<vector<VEC>*>(y + first)[index] = values;
  }
  if (index < first) y[index] = 2 * x[index] + 1;
  const long long rest = first + VEC * vectors + index;
  if (rest < n) y[rest] = 2 * x[rest] + 1;
}
