// Tensor-core products of 16-bit floating types (mma.sync m16n8k16) and the loads that feed them (ldmatrix), for sm_80 and newer.
// What a lane holds of each matrix is in the PTX manual under "Matrix Fragments for mma.m16n8k16" and under "ldmatrix".
// Not on the cpu device.
#pragma once

#ifndef TUNEBOOK_CPU

#include <cuda_bf16.h>
#include <cuda_fp16.h>

template <typename T>
constexpr bool is_half = false;
template <>
constexpr bool is_half<__half> = true;
template <typename T>
constexpr bool is_tensor_core_type = is_half<T>;
template <>
constexpr bool is_tensor_core_type<__nv_bfloat16> = true;

// Four 8x8 matrices of 16-bit elements from shared memory, one register of each lane per matrix: lane 4 r + c gets elements 2 c and
// 2 c + 1 of row r. Lane 8 i + r gives the address of row r of matrix i (16 bytes, aligned to 16) in the shared window.
__device__ __forceinline__ void load_matrices(unsigned (&matrix)[4], unsigned row_address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(matrix[0]), "=r"(matrix[1]), "=r"(matrix[2]), "=r"(matrix[3])
               : "r"(row_address)
               : "memory");
}

// The same with each matrix transposed: lane 4 r + c gets elements r of rows 2 c and 2 c + 1.
__device__ __forceinline__ void load_matrices_transposed(unsigned (&matrix)[4], unsigned row_address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(matrix[0]), "=r"(matrix[1]), "=r"(matrix[2]), "=r"(matrix[3])
               : "r"(row_address)
               : "memory");
}

// sum += a * b for one warp. a is 16x16, its quarters in the order upper left, lower left, upper right, lower right; b is 16x8, given as
// its upper and its lower half, each transposed (lane 4 r + c holds rows 2 c and 2 c + 1 of column r). sum is 16x8: lane 4 r + c holds
// columns 2 c and 2 c + 1 of row r, then those of row r + 8.
template <typename T>
__device__ __forceinline__ void multiply_accumulate(float (&sum)[4], const unsigned (&a)[4], unsigned b_upper, unsigned b_lower) {
  static_assert(is_tensor_core_type<T>, "products of __half or of __nv_bfloat16");
  if constexpr (is_half<T>) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b_upper), "r"(b_lower));
  } else {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b_upper), "r"(b_lower));
  }
}

#endif
