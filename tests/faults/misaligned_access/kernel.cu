// y = 2 x + 1; accesses vectors that begin at the second element with BAD = 1; with BAD = 2 they begin at the first.
// WASTE steps that change nothing (one = 1, zero = 0, which the compiler cannot know) make some configurations slower than others.
template <int BLOCK, int WASTE, int BAD>
__global__ void misaligned_access(float* y, const float* x, long long n, float one, float zero) {
  const long long index = static_cast<long long>(blockIdx.x) * BLOCK + threadIdx.x;
  if (BAD == 0) {
    if (index >= n) return;
    float value = 2 * x[index] + 1;
#pragma unroll 1
    for (int i = 0; i < WASTE; ++i) value = value * one + zero;
    y[index] = value;
    return;
  }
  const int first = BAD == 1 ? 1 : 0;  // the mistake: right, were it not for the alignment
  const long long vectors = (n - first) / 4;
  if (index < vectors) {
    float4 values = reinterpret_cast<const float4*>(x + first)[index];
    values.x = 2 * values.x + 1;
    values.y = 2 * values.y + 1;
    values.z = 2 * values.z + 1;
    values.w = 2 * values.w + 1;
    reinterpret_cast<float4*>(y + first)[index] = values;
  }
  if (index < first) y[index] = 2 * x[index] + 1;
  const long long rest = first + 4 * vectors + index;
  if (rest < n) y[rest] = 2 * x[rest] + 1;
}
