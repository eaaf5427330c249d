// y = 2 x + 1; compiles for ever with BAD = 1; with BAD = 2 there is much less to compile.
// WASTE steps that change nothing (one = 1, zero = 0, which the compiler cannot know) make some configurations slower than others.
// Milliseconds of the compiler's time, and no memory.
__device__ constexpr int count(int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i) sum += i % 3;
  return sum;
}
// 2^DEPTH different leaves.
template <int DEPTH, unsigned long long LEAF>
struct Tree {
  static constexpr int value = Tree<DEPTH - 1, 2 * LEAF>::value + Tree<DEPTH - 1, 2 * LEAF + 1>::value;
};
template <unsigned long long LEAF>
struct Tree<0, LEAF> {
  static constexpr int value = count(20000);
};

template <int BLOCK, int WASTE, int BAD>
__global__ void compiles_for_ever(float* y, const float* x, long long n, float one, float zero) {
  const long long index = static_cast<long long>(blockIdx.x) * BLOCK + threadIdx.x;
  if (index >= n) return;
  float value = 2 * x[index] + 1;
#pragma unroll 1
  for (int i = 0; i < WASTE; ++i) value = value * one + zero;
  value += zero * Tree<(BAD == 1 ? 60 : BAD == 2 ? 2 : 0), 0>::value;
  y[index] = value;
}
