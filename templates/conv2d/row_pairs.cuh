// Large filters with three products where four are needed (a two-parallel fast FIR filter, Mou and Duhamel, 1987). Let E and O be the even
// and the odd rows of the image, counted from the first that the results need, G and H those of the filter. Then the even and the odd rows
// of results are
//   G E + H O = (G + H) O + G (E - O)      and      G O + H E' = (G + H) O + H (E' - O)
// where a product is a filter of half the rows, and E' is E from the next row on. What the products need lies in shared memory: the filter
// as G + H, G and H, the image as O, E - O and E' - O. One loop goes through the products, with one set of sums, of TY / 2 rows.
//
// Where the filter has an odd number of rows, G has one more than H, and the even rows of results meet a row of the image below their
// filter in two products, where it cancels. So the error goes with the largest pixel of one row more than the filter has, and NaN or
// infinity in that row makes NaN of the result. Images of finite pixels of like size are what this is for; the other ways read a filter's
// own pixels only.
#pragma once

#include "add_rows.cuh"
#include "element.cuh"
#include "pack.cuh"

// Rows n of O, E - O and E' - O, of the part of the image whose corner is (from_y, from_x). `plane` elements lie between them. INSIDE: the
// image has all of it, one row more included.
template <bool INSIDE, typename T, int WARPS, int PITCH, int SWIZZLE>
__device__ __forceinline__ void fill_pairs(accumulator_t<T>* tile, int plane, const T* __restrict__ image, long long h, long long w,
                                           long long from_y, long long from_x, int pairs, int tile_w) {
  using Sum = accumulator_t<T>;
  constexpr int kSteps = (PITCH + 31) / 32;                 // elements of a row per lane
  constexpr int kPairs = 3 * kSteps < 32 ? 32 / (3 * kSteps) : 1;  // at a time
  const int lane = threadIdx.x % 32;
  const long long first = from_x < 0 ? -from_x : 0;  // columns of the tile from here ...
  const long long last = w - from_x < tile_w ? w - from_x : tile_w;  // ... to here are inside
#pragma unroll 1
  for (int n0 = static_cast<int>(threadIdx.x) / 32; n0 < pairs; n0 += WARPS * kPairs) {
    T staged[kPairs][3][kSteps];
#pragma unroll
    for (int q = 0; q < kPairs; ++q) {
      const int n = n0 + q * WARPS < pairs ? n0 + q * WARPS : pairs - 1;  // past the end: the last ones again
#pragma unroll
      for (int r = 0; r < 3; ++r) {
        const long long y = from_y + 2 * n + r;
        const T* const row = image + y * w + from_x + lane;
        const bool row_inside = INSIDE || y >= 0 && y < h;
#pragma unroll
        for (int s = 0; s < kSteps; ++s) {
          const int c = lane + s * 32;
          staged[q][r][s] = T(0);
          if (INSIDE ? c < tile_w : row_inside && c >= first && c < last) staged[q][r][s] = row[s * 32];
        }
      }
    }
#pragma unroll
    for (int q = 0; q < kPairs; ++q) {
      const int n = n0 + q * WARPS < pairs ? n0 + q * WARPS : pairs - 1;
#pragma unroll
      for (int s = 0; s < kSteps; ++s) {
        const int c = lane + s * 32;
        if (c >= tile_w) continue;
        Sum* const to = tile + n * PITCH + place<SWIZZLE, PITCH>(c);
        const Sum odd = widen(staged[q][1][s]);
        to[0] = odd;
        to[plane] = widen(staged[q][0][s]) - odd;
        to[2 * plane] = widen(staged[q][2][s]) - odd;
      }
    }
  }
}

template <typename T, int BX, int BY, int TX, int TY, int FW, int UNROLL_H, int SWIZZLE>
__device__ __forceinline__ void filter_pairs(T* __restrict__ out, const T* __restrict__ image, const T* __restrict__ filter, long long h,
                                             long long w, int fh, long long x0, long long y0) {
  using Sum = accumulator_t<T>;
  static_assert(TY % 2 == 0 && TX % 4 == 0, "rows in pairs, columns in packs");
  constexpr int kThreads = BX * BY;
  constexpr int kRows = TY / 2;
  constexpr int kPitch = BX * TX + halo_width(FW);
  constexpr int kWeightsPitch = round_up(FW, 4);
  constexpr int kTileW = BX * TX + FW - 1;
  const int even = (fh + 1) / 2;  // rows of G, and of H with one of zeros where it has less
  const int pairs = BY * kRows + even - 1;
  const int plane = pairs * kPitch;

  extern __shared__ __align__(16) unsigned char shared_memory[];
  Sum* const weights = reinterpret_cast<Sum*>(shared_memory);  // G + H, G, H
  Sum* const tile = weights + 3 * even * kWeightsPitch;
#pragma unroll 1
  for (int index = threadIdx.x; index < even * FW; index += kThreads) {
    const int i = index / FW;
    const int j = index % FW;
    const Sum g = widen(filter[2 * i * FW + j]);
    const Sum half = 2 * i + 1 < fh ? Sum(widen(filter[(2 * i + 1) * FW + j])) : Sum(0);
    weights[i * kWeightsPitch + j] = g + half;
    weights[(even + i) * kWeightsPitch + j] = g;
    weights[(2 * even + i) * kWeightsPitch + j] = half;
  }
  const long long from_y = y0 - (fh - 1) / 2;
  const long long from_x = x0 - (FW - 1) / 2;
  if (from_y >= 0 && from_y + 2 * pairs + 1 <= h && from_x >= 0 && from_x + kTileW <= w) {
    fill_pairs<true, T, kThreads / 32, kPitch, SWIZZLE>(tile, plane, image, h, w, from_y, from_x, pairs, kTileW);
  } else {
    fill_pairs<false, T, kThreads / 32, kPitch, SWIZZLE>(tile, plane, image, h, w, from_y, from_x, pairs, kTileW);
  }
  __syncthreads();

  const int column = static_cast<int>(threadIdx.x) % BX * TX;
  const int thread_y = static_cast<int>(threadIdx.x) / BX;
  const long long x = x0 + column;
  Sum sum[kRows][TX] = {};
  Sum common[kRows][TX];
#pragma unroll 1
  for (int product = 0; product < 3; ++product) {
    const int rows = product < 2 ? even : fh / 2;
    const Sum* const corner = tile + product * plane + thread_y * kRows * kPitch;
    const Sum* const part = weights + product * even * kWeightsPitch;
    int i = 0;
#pragma unroll 1
    for (; i + UNROLL_H <= rows; i += UNROLL_H) {
      add_rows<UNROLL_H, FW, TX, kRows, kPitch, SWIZZLE>(sum, corner + i * kPitch, column, part + i * kWeightsPitch, kWeightsPitch);
    }
    if constexpr (UNROLL_H > 1) {
#pragma unroll 1
      for (; i < rows; ++i) {
        add_rows<1, FW, TX, kRows, kPitch, SWIZZLE>(sum, corner + i * kPitch, column, part + i * kWeightsPitch, kWeightsPitch);
      }
    }
    // Two short sums that are added at the end err less than a long one.
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if (product == 0) {
#pragma unroll
        for (int c = 0; c < TX; ++c) common[r][c] = sum[r][c];
      } else {
#pragma unroll
        for (int c = 0; c < TX; ++c) sum[r][c] += common[r][c];
        write_columns(out, sum[r], h, w, x, y0 + thread_y * TY + 2 * r + (product - 1));
      }
#pragma unroll
      for (int c = 0; c < TX; ++c) sum[r][c] = 0;
    }
  }
}
