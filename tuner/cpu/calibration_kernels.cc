#include "cpu/calibration_kernels.h"

namespace tunebook {
namespace {

// The compiler lowers vectors for each function's own target, so each target has its own copy of the loops. Chains: more than
// the latency of two units needs, and no more than there are registers.
#define TUNEBOOK_CALIBRATION_LOOPS(suffix, target, bytes, chains)                                       \
  target std::uint64_t sum_words_##suffix(const std::uint64_t* words, std::size_t count) {              \
    std::uint64_t sum = 0;                                                                              \
    for (std::size_t i = 0; i < count; ++i) sum += words[i];                                            \
    return sum;                                                                                         \
  }                                                                                                     \
  target double multiply_add_f32_##suffix(std::int64_t steps, float a, float b) {                       \
    typedef float Vector __attribute__((vector_size(bytes)));                                           \
    constexpr int kLanes = bytes / 4;                                                                   \
    Vector x[chains];                                                                                   \
    for (int c = 0; c < chains; ++c) x[c] = Vector{} + (a + static_cast<float>(c));                     \
    for (std::int64_t step = 0; step < steps; ++step) {                                                 \
      for (int c = 0; c < chains; ++c) x[c] = x[c] * a + b;                                             \
    }                                                                                                   \
    float sum = 0;                                                                                      \
    for (int c = 0; c < chains; ++c) {                                                                  \
      for (int lane = 0; lane < kLanes; ++lane) sum += x[c][lane];                                      \
    }                                                                                                   \
    volatile float sink = sum;                                                                          \
    (void)sink;                                                                                         \
    return 2.0 * kLanes * chains * static_cast<double>(steps);                                          \
  }                                                                                                     \
  target double multiply_add_f64_##suffix(std::int64_t steps, double a, double b) {                     \
    typedef double Vector __attribute__((vector_size(bytes)));                                          \
    constexpr int kLanes = bytes / 8;                                                                   \
    Vector x[chains];                                                                                   \
    for (int c = 0; c < chains; ++c) x[c] = Vector{} + (a + c);                                         \
    for (std::int64_t step = 0; step < steps; ++step) {                                                 \
      for (int c = 0; c < chains; ++c) x[c] = x[c] * a + b;                                             \
    }                                                                                                   \
    double sum = 0;                                                                                     \
    for (int c = 0; c < chains; ++c) {                                                                  \
      for (int lane = 0; lane < kLanes; ++lane) sum += x[c][lane];                                      \
    }                                                                                                   \
    volatile double sink = sum;                                                                         \
    (void)sink;                                                                                         \
    return 2.0 * kLanes * chains * static_cast<double>(steps);                                          \
  }

TUNEBOOK_CALIBRATION_LOOPS(plain, , 16, 10)
#if defined(__x86_64__)
TUNEBOOK_CALIBRATION_LOOPS(avx2, __attribute__((target("avx2,fma"))), 32, 12)
TUNEBOOK_CALIBRATION_LOOPS(avx512, __attribute__((target("avx512f,fma"))), 64, 16)
#endif
#undef TUNEBOOK_CALIBRATION_LOOPS

struct Loops {
  std::uint64_t (*sum_words)(const std::uint64_t*, std::size_t) = sum_words_plain;
  double (*multiply_add_f32)(std::int64_t, float, float) = multiply_add_f32_plain;
  double (*multiply_add_f64)(std::int64_t, double, double) = multiply_add_f64_plain;
};

Loops loops_of_this_processor() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return {sum_words_avx512, multiply_add_f32_avx512, multiply_add_f64_avx512};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return {sum_words_avx2, multiply_add_f32_avx2, multiply_add_f64_avx2};
#endif
  return {};
}

const Loops& loops() {
  static const Loops chosen = loops_of_this_processor();
  return chosen;
}

}  // namespace

std::uint64_t sum_words(const std::uint64_t* words, std::size_t count) { return loops().sum_words(words, count); }
double multiply_add_f32(std::int64_t steps, float a, float b) { return loops().multiply_add_f32(steps, a, b); }
double multiply_add_f64(std::int64_t steps, double a, double b) { return loops().multiply_add_f64(steps, a, b); }

}  // namespace tunebook
