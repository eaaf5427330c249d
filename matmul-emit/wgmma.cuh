// Tensor-core products of 16-bit floating types by a warpgroup, four warps of which the first one's number is a multiple of four: both
// operands come from shared memory, the sums stay in registers (wgmma, which sm_90a alone has). Layouts: PTX manual, "Asynchronous
// Warpgroup Level Matrix Multiply-Accumulate Instructions". Not on the cpu device.
#pragma once

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

#include "mma.cuh"

// Where an operand of 64 or more rows of A (columns of B) by 16 steps in k begins, and how it goes on. It is kept in pieces of 8 rows of 128 bytes
// that begin at multiples of 1024 bytes; 16 bytes that belong to place p of row r of a piece are at place p ^ r ("128-byte swizzle").
// `next_outer` and `next_depth`: bytes from one piece to the next. Where steps in k are neighbours, a piece is 8 rows of A (columns of B) by 64
// steps, `next_outer` leads to the next 8, and `next_depth` is not looked at. Where rows of A (columns of B) are neighbours, a piece is 8 steps
// by 64 of them, `next_depth` leads to the next 8 steps, and `next_outer` to the next 64.
template <bool DEPTH_CONTIGUOUS>
__device__ __forceinline__ unsigned long long matrix_descriptor(unsigned address, unsigned next_outer, unsigned next_depth) {
  constexpr unsigned long long kSwizzle128 = 1ull << 62;
  const unsigned long long leading = DEPTH_CONTIGUOUS ? 16 : next_outer;
  const unsigned long long stride = DEPTH_CONTIGUOUS ? next_outer : next_depth;
  return kSwizzle128 | (stride & 0x3ffff) >> 4 << 32 | (leading & 0x3ffff) >> 4 << 16 | (address & 0x3ffff) >> 4;
}

// Before the first product, and after the sums were touched otherwise.
__device__ __forceinline__ void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
// Products since the last call become a group; wait_for_products<N>() returns when all but the N latest groups are done.
__device__ __forceinline__ void commit_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int N>
__device__ __forceinline__ void wait_for_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}
// What this thread wrote to shared memory, cp.async included once it was waited for, is seen by products that begin after the next barrier.
__device__ __forceinline__ void publish_to_products() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// "+f" for the sums of 8, 32, ... registers.
#define TUNEBOOK_SUMS_8(s, j) \
  "+f"(s[j][0]), "+f"(s[j][1]), "+f"(s[j][2]), "+f"(s[j][3]), "+f"(s[j + 1][0]), "+f"(s[j + 1][1]), "+f"(s[j + 1][2]), "+f"(s[j + 1][3])
#define TUNEBOOK_SUMS_32(s, j) TUNEBOOK_SUMS_8(s, j), TUNEBOOK_SUMS_8(s, j + 2), TUNEBOOK_SUMS_8(s, j + 4), TUNEBOOK_SUMS_8(s, j + 6)
#define TUNEBOOK_SUMS_64(s, j) TUNEBOOK_SUMS_32(s, j), TUNEBOOK_SUMS_32(s, j + 8)
#define TUNEBOOK_SUMS_128(s, j) TUNEBOOK_SUMS_64(s, j), TUNEBOOK_SUMS_64(s, j + 16)

#define TUNEBOOK_PLACES_32 \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, " \
  "%22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define TUNEBOOK_PLACES_64 \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, " \
  "%22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, " \
  "%42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, " \
  "%62, %63"
#define TUNEBOOK_PLACES_128 \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, " \
  "%22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, " \
  "%42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, " \
  "%62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, " \
  "%82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, " \
  "%101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, " \
  "%117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"

// Sums += A * B. REGISTERS per thread, and the places of the two descriptors, of 1 and of the two flags behind them.
#define TUNEBOOK_PRODUCT(COLUMNS, REGISTERS, A, B, ONE, A_TURNED, B_TURNED, TYPE)                                                       \
  asm volatile("{ .reg .pred accumulate; setp.ne.b32 accumulate, %" #ONE ", 0; wgmma.mma_async.sync.aligned.m64n" #COLUMNS "k16.f32." TYPE "." TYPE \
               " {" TUNEBOOK_PLACES_##REGISTERS "}, %" #A ", %" #B ", accumulate, 1, 1, %" #A_TURNED ", %" #B_TURNED "; }"                \
               : TUNEBOOK_SUMS_##REGISTERS(sum, 0)                                                                                        \
               : "l"(a), "l"(b), "r"(1), "n"(A_DEPTH_CONTIGUOUS ? 0 : 1), "n"(B_DEPTH_CONTIGUOUS ? 0 : 1))

// sum += a * b for a warpgroup: 64 rows of A by 16 steps in k by 8 * EIGHTS columns of B. Lane 4 r + c of warp w holds, of the eight columns
// of number j, columns 2 c and 2 c + 1 of rows 16 w + r (the first two of sum[j]) and 16 w + r + 8. Runs on until it is waited for.
template <typename T, bool A_DEPTH_CONTIGUOUS, bool B_DEPTH_CONTIGUOUS, int EIGHTS>
__device__ __forceinline__ void warpgroup_multiply_accumulate(float (&sum)[EIGHTS][4], unsigned long long a, unsigned long long b) {
  static_assert(is_tensor_core_type<T>, "products of __half or of __nv_bfloat16");
  static_assert(EIGHTS == 8 || EIGHTS == 16 || EIGHTS == 32, "64, 128 or 256 columns");
  if constexpr (EIGHTS == 8) {
    if constexpr (is_half<T>) TUNEBOOK_PRODUCT(64, 32, 32, 33, 34, 35, 36, "f16");
    else TUNEBOOK_PRODUCT(64, 32, 32, 33, 34, 35, 36, "bf16");
  } else if constexpr (EIGHTS == 16) {
    if constexpr (is_half<T>) TUNEBOOK_PRODUCT(128, 64, 64, 65, 66, 67, 68, "f16");
    else TUNEBOOK_PRODUCT(128, 64, 64, 65, 66, 67, 68, "bf16");
  } else {
    if constexpr (is_half<T>) TUNEBOOK_PRODUCT(256, 128, 128, 129, 130, 131, 132, "f16");
    else TUNEBOOK_PRODUCT(256, 128, 128, 129, 130, 131, 132, "bf16");
  }
}

#endif
