// Small filters whose rows and columns are all written out. A thread goes down ROWS rows of four columns: each row of the image is read to
// registers once, FH rows ahead, and meets all rows of the filter there, in the FH rows of results that are under way. What neighbouring
// threads read too comes from the first-level cache; nothing is staged, and nobody waits for anybody.
#pragma once

#include "element.cuh"
#include "pack.cuh"

// (x, y0): the thread's first result. ALIGNED: packs of four elements lie inside or outside of a row as a whole, and aligned.
template <bool ALIGNED, typename T, int ROWS, int FW, int FH>
__device__ __forceinline__ void filter_rows(T* __restrict__ out, const T* __restrict__ image, const T* __restrict__ filter, long long h,
                                            long long w, long long x, long long y0) {
  using Sum = accumulator_t<T>;
  constexpr int kLeft = (FW - 1) / 2;
  constexpr int kRight = FW - 1 - kLeft;
  constexpr int kSide = kRight <= 2 ? 2 : 4;  // elements of a read beside the four
  static_assert(kLeft <= kSide && kRight <= kSide, "a row of the filter reaches into the neighbouring packs only");
  constexpr int kTop = (FH - 1) / 2;
  constexpr int kSteps = ROWS + FH - 1;

  Sum weight[FH][FW];
#pragma unroll
  for (int i = 0; i < FH * FW; ++i) weight[i / FW][i % FW] = widen(filter[i]);

  // Steps from `first` on, `count` of them, have a row of the image; the first `results` rows of results exist.
  const int first = y0 < kTop ? static_cast<int>(kTop - y0) : 0;
  const int count = (h - y0 + kTop < kSteps ? static_cast<int>(h - y0) + kTop : kSteps) - first;
  const int results = h - y0 < ROWS ? static_cast<int>(h - y0) : ROWS;
  const T* from = image + (y0 - kTop) * w + x;  // of the step that is loaded next
  T row[FH][4 + 2 * kSide];
  auto load = [&](T (&to)[4 + 2 * kSide], int step) {
    const bool valid = static_cast<unsigned>(step - first) < static_cast<unsigned>(count);
    if constexpr (ALIGNED) {
      pack<T, kSide> left = {};
      pack<T, 4> middle = {};
      pack<T, kSide> right = {};
      if (valid && x > 0) left = load_pack<kSide>(from - kSide);
      if (valid) middle = load_pack<4>(from);
      if (valid && x + 4 < w) right = load_pack<kSide>(from + 4);
#pragma unroll
      for (int v = 0; v < kSide; ++v) to[v] = left.element[v];
#pragma unroll
      for (int v = 0; v < 4; ++v) to[kSide + v] = middle.element[v];
#pragma unroll
      for (int v = 0; v < kSide; ++v) to[kSide + 4 + v] = right.element[v];
    } else {
#pragma unroll
      for (int v = kSide - kLeft; v < kSide + 4 + kRight; ++v) {
        to[v] = T(0);
        if (valid && x - kSide + v >= 0 && x - kSide + v < w) to[v] = from[v - kSide];
      }
    }
    from += w;
  };
#pragma unroll
  for (int u = 0; u < FH; ++u) load(row[u], u);

  T* to = out + y0 * w + x;
  Sum sum[FH][4] = {};  // the result that begins with step t is in t % FH
#pragma unroll 1
  for (int step0 = 0; step0 < kSteps; step0 += FH) {
#pragma unroll
    for (int u = 0; u < FH; ++u) {
      Sum segment[4 + 2 * kSide];
#pragma unroll
      for (int v = kSide - kLeft; v < kSide + 4 + kRight; ++v) segment[v] = widen(row[u][v]);
#pragma unroll
      for (int c = 0; c < 4; ++c) sum[u][c] = 0;
#pragma unroll
      for (int i = 0; i < FH; ++i) {
#pragma unroll
        for (int j = 0; j < FW; ++j) {
#pragma unroll
          for (int c = 0; c < 4; ++c) sum[(u - i + FH) % FH][c] += segment[kSide - kLeft + j + c] * weight[i][j];
        }
      }
      load(row[u], step0 + u + FH);
      const int ready = step0 + u - (FH - 1);
      if (static_cast<unsigned>(ready) < static_cast<unsigned>(results)) {
        pack<T, 4> written;
#pragma unroll
        for (int c = 0; c < 4; ++c) narrow(sum[(u + 1) % FH][c], written.element[c]);
        if constexpr (ALIGNED) {
          store_pack(to, written);
        } else {
#pragma unroll
          for (int c = 0; c < 4; ++c) {
            if (x + c < w) to[c] = written.element[c];
          }
        }
        to += w;
      }
    }
  }
}
