// The way of a tensor-core product's sums to C: what a lane holds is turned so that it writes eight neighbouring columns at once.
#pragma once

#ifndef TUNEBOOK_CPU

#include "element.cuh"
#include "pack.cuh"

// Two f32 rounded to T, the first in the lower half.
template <typename T>
__device__ __forceinline__ unsigned narrow_pair(float first, float second) {
  pack<T, 2> pair;
  narrow(first, pair.element[0]);
  narrow(second, pair.element[1]);
  unsigned bits;
  memcpy(&bits, &pair, sizeof(bits));
  return bits;
}

// value[i] of lane j of four neighbouring lanes becomes value[j] of lane i.
__device__ __forceinline__ void transpose_in_quad(unsigned (&value)[4]) {
#pragma unroll
  for (int distance = 1; distance <= 2; distance *= 2) {
    const bool upper = threadIdx.x & distance;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (i & distance) continue;
      const unsigned received = __shfl_xor_sync(0xffffffffu, upper ? value[i] : value[i + distance], distance);
      if (upper) {
        value[i] = received;
      } else {
        value[i + distance] = received;
      }
    }
  }
}

// The first of eight elements that lie inside the row (`left` of them or all), VEC at a time.
template <int VEC, typename T>
__device__ __forceinline__ void write_row(T* to, const pack<T, 8>& eight, int left) {
#pragma unroll
  for (int v = 0; v < 8; v += VEC) {
    pack<T, VEC> part;
    memcpy(&part, &eight.element[v], sizeof(part));
    if (v < left) store_pack(to + v, part);
  }
}

// The same elements, read; zeros for those outside.
template <int VEC, typename T>
__device__ __forceinline__ void read_row(unsigned (&bits)[4], const T* from, int left) {
  pack<T, 8> eight{};
#pragma unroll
  for (int v = 0; v < 8; v += VEC) {
    if (v >= left) continue;
    const pack<T, VEC> part = load_pack<VEC>(from + v);
    memcpy(&eight.element[v], &part, sizeof(part));
  }
  memcpy(&bits, &eight, sizeof(bits));
}

// A tile of C = alpha * sums + beta * C_in, of which `rows_left` by `columns_left` lie inside the matrix. Rows of C may begin anywhere, even where
// those of A and B were copied to aligned ones; VEC: elements that are written at once where they do not.
template <typename T, int VEC>
class tensor_core_rows {
 public:
  // `c` and `c_in` lead to the tile's corner; C is n wide, ldc elements from row to row. C_in is not read where beta is 0.
  __device__ __forceinline__ tensor_core_rows(T* c, const T* c_in, long long n, long long ldc, int rows_left, int columns_left, float alpha,
                                              float beta)
      : c_(c), c_in_(c_in), ldc_(ldc), rows_left_(rows_left), columns_left_(columns_left), alpha_(alpha), beta_(beta) {
    in_packs_ = (ldc | n) % VEC == 0 &&
                (reinterpret_cast<unsigned long long>(c) | reinterpret_cast<unsigned long long>(c_in)) % (VEC * sizeof(T)) == 0;
  }

  // A warp's 16 rows from `row` on by EIGHTS times 8 columns from `column` on: lane 4 r + q holds, of the j-th eight columns, columns 2 q and 2 q + 1
  // of row r (the first two of sum[j]) and of row r + 8.
  template <int EIGHTS>
  __device__ __forceinline__ void write(const float (&sum)[EIGHTS][4], int row, int column) const {
    static_assert(EIGHTS % 4 == 0, "four lanes hold four times eight columns");
    const int quad_lane = threadIdx.x % 4;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int lane_row = row + half * 8 + threadIdx.x % 32 / 4;
      T* const c_row = c_ + lane_row * ldc_;
      const T* const c_in_row = c_in_ + lane_row * ldc_;
      auto left = [&](int at) { return lane_row < rows_left_ ? columns_left_ - at : 0; };
      // All of the row's reads come before its first write: none may pass a write to memory that could be the same.
      unsigned in[EIGHTS / 4][4] = {};
      if (beta_ != 0) {
#pragma unroll
        for (int j0 = 0; j0 < EIGHTS; j0 += 4) {
          const int at = column + j0 * 8 + quad_lane * 8;
          if (in_packs_) {
            read_row<VEC>(in[j0 / 4], c_in_row + at, left(at));
          } else {
            read_row<1>(in[j0 / 4], c_in_row + at, left(at));
          }
        }
      }
#pragma unroll
      for (int j0 = 0; j0 < EIGHTS; j0 += 4) {
        // Four lanes hold four times eight neighbouring columns, two each; what is read and written is eight for each.
        unsigned value[4];
        if (beta_ != 0) transpose_in_quad(in[j0 / 4]);
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          pack<T, 2> pair;
          memcpy(&pair, &in[j0 / 4][j], sizeof(pair));
          float first = alpha_ * sum[j0 + j][half * 2];
          float second = alpha_ * sum[j0 + j][half * 2 + 1];
          if (beta_ != 0) {
            first += beta_ * widen(pair.element[0]);
            second += beta_ * widen(pair.element[1]);
          }
          value[j] = narrow_pair<T>(first, second);
        }
        transpose_in_quad(value);
        const int at = column + j0 * 8 + quad_lane * 8;
        pack<T, 8> eight;
        memcpy(&eight, value, sizeof(eight));
        if (in_packs_) {
          write_row<VEC>(c_row + at, eight, left(at));
        } else {
          write_row<1>(c_row + at, eight, left(at));
        }
      }
    }
  }

 private:
  T* c_;
  const T* c_in_;
  long long ldc_;
  int rows_left_, columns_left_;
  float alpha_, beta_;
  bool in_packs_;
};

#endif
