// Own half and bfloat16 types, as kernels see them, against core/dtype.h's conversions.

#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "core/dtype.h"
#include "core/random.h"
#include "kernel_fixture.h"

namespace tunebook::test {
namespace {

constexpr const char* kConvert = R"(
#include <cuda_fp16.h>
#include <cuda_bf16.h>
template <class S> __global__ void to_float(float* out, const S* in, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = in[i];
}
template <class S> __global__ void from_double(S* out, const double* in, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = S(in[i]);
}
template <class S> __global__ void from_float(S* out, const float* in, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = S(in[i]);
}
template <class S> __global__ void fused(S* out, const S* x, const S* y, const S* z, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = __hfma(x[i], y[i], z[i]);
})";

const LaunchShape kShape = shape({1, 1, 1}, {32, 1, 1});

class SmallFloat : public testing::TestWithParam<DType> {
 protected:
  std::string instance(const char* name) const { return std::string(name) + "<" + std::string(cuda_type_name(GetParam())) + ">"; }
};

TEST_P(SmallFloat, AllValuesToFloat) {
  std::vector<std::uint16_t> in(65536);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<std::uint16_t>(i);
  std::vector<float> out(in.size());
  ASSERT_FALSE(launch(kConvert, instance("to_float"), kShape, out.data(), in.data(), 65536).failure);
  for (std::size_t i = 0; i < in.size(); ++i) {
    const double expected = load_as_double(GetParam(), &in[i]);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(out[i])) << i;
    } else {
      ASSERT_EQ(static_cast<double>(out[i]), expected) << i;
    }
  }
}

TEST_P(SmallFloat, RoundsToNearestEven) {
  Random random(11);
  std::vector<double> in = {0.0, -0.0, 1.0, 65504.0, 65519.9, 65520.0, 1e39, 5.96e-8, 2.98e-8, 2.99e-8, 1.00048828125, 1.00048828126,
                            1.0 + 0x1p-8, 1.0 + 0x1p-8 + 0x1p-40, INFINITY, -INFINITY};
  for (int i = 0; i < 50000; ++i) in.push_back(std::ldexp(random.normal(), static_cast<int>(random.below(44)) - 28));
  const int n = static_cast<int>(in.size());
  std::vector<float> single(in.begin(), in.end());
  std::vector<std::uint16_t> out(in.size()), from_single(in.size());
  ASSERT_FALSE(launch(kConvert, instance("from_double"), kShape, out.data(), in.data(), n).failure);
  ASSERT_FALSE(launch(kConvert, instance("from_float"), kShape, from_single.data(), single.data(), n).failure);
  for (std::size_t i = 0; i < in.size(); ++i) {
    std::uint16_t expected = 0;
    store_from_double(GetParam(), in[i], &expected);
    ASSERT_EQ(out[i], expected) << in[i];
    store_from_double(GetParam(), static_cast<double>(single[i]), &expected);
    ASSERT_EQ(from_single[i], expected) << single[i];
  }
}

TEST_P(SmallFloat, FusedMultiplyAddRoundsOnce) {
  Random random(12);
  const int n = 20000;
  std::vector<std::uint16_t> x(n), y(n), z(n), out(n);
  for (int i = 0; i < n; ++i) {
    for (std::vector<std::uint16_t>* v : {&x, &y, &z}) store_from_double(GetParam(), random.normal(), &(*v)[static_cast<std::size_t>(i)]);
  }
  ASSERT_FALSE(launch(kConvert, instance("fused"), kShape, out.data(), x.data(), y.data(), z.data(), n).failure);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double exact =
        load_as_double(GetParam(), &x[i]) * load_as_double(GetParam(), &y[i]) + load_as_double(GetParam(), &z[i]);
    std::uint16_t expected = 0;
    store_from_double(GetParam(), exact, &expected);
    ASSERT_EQ(out[i], expected) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Types, SmallFloat, testing::Values(DType::f16, DType::bf16),
                         [](const auto& test) { return std::string(dtype_name(test.param)); });

TEST(DeviceMath, Intrinsics) {
  const std::string source = R"(
__global__ void k(float* f, unsigned* u) {
  f[0] = rsqrtf(4.0f); f[1] = fmaf(2, 3, 4); f[2] = __expf(0.0f); f[3] = fminf(1, NAN); f[4] = max(2.0f, 3.0f);
  f[5] = __saturatef(7); f[6] = __int_as_float(0x3f800000); f[7] = floorf(-1.5f); f[8] = sqrt(9.0f); f[9] = abs(-2.5f);
  u[0] = __popc(0xf0f0); u[1] = __clz(1); u[2] = __ffs(8); u[3] = __brev(1); u[4] = __umulhi(1u << 31, 4);
  u[5] = __byte_perm(0x33221100, 0x77665544, 0x7410); u[6] = __funnelshift_l(0x80000000u, 1, 1); u[7] = min(3, 4u);
  u[8] = __float_as_uint(1.0f); u[9] = (unsigned)__float2int_rn(2.5f);
})";
  std::vector<float> f(10);
  std::vector<std::uint32_t> u(10);
  ASSERT_FALSE(launch(source, "k", shape({1, 1, 1}, {1, 1, 1}), f.data(), u.data()).failure);
  EXPECT_EQ(f, (std::vector<float>{0.5f, 10, 1, 1, 3, 1, 1, -2, 3, 2.5f}));
  EXPECT_EQ(u, (std::vector<std::uint32_t>{8, 31, 4, 0x80000000u, 2, 0x77441100u, 3, 3, 0x3f800000u, 2}));
}

}  // namespace
}  // namespace tunebook::test
