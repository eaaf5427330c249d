// What a thread does with rows of a tile in shared memory, and with its results.
#pragma once

#include "element.cuh"
#include "pack.cuh"

__device__ constexpr int round_up(int value, int step) { return (value + step - 1) / step * step; }

// The most of a filter that is taken at a time, and the room for its halo in a row of the tile.
__device__ constexpr int max_part() { return 33; }
__device__ constexpr int part_width(int unroll_w) { return unroll_w % 4 == 0 ? max_part() : unroll_w; }
__device__ constexpr int halo_width(int unroll_w) { return round_up(part_width(unroll_w) - 1, 8); }

// Where a column of the tile lies in its row. With eight columns per thread the threads together read every second quad at a time: half of
// the banks. SWIZZLE keeps the even quads in the first half of the row and the odd ones in the second, so that these are neighbours.
template <int SWIZZLE, int PITCH>
__device__ __forceinline__ constexpr int place(int column) {
  return SWIZZLE ? (column / 4 % 2) * (PITCH / 2) + column / 8 * 4 + column % 4 : column;
}

// Adds ROWS rows of the filter, WIDTH columns each, to all of a thread's results. `tile` is the row of the tile where the thread's
// first result meets the first of these filter rows, `column` where its first result meets the first of these filter columns. The
// tile's row r meets filter row u in the result's row r - u.
template <int ROWS, int WIDTH, int TX, int TY, int PITCH, int SWIZZLE, typename Sum>
__device__ __forceinline__ void add_rows(Sum (&sum)[TY][TX], const Sum* tile, int column, const Sum* weights, int weights_pitch) {
  constexpr int kRead = TX < 4 ? TX : 4;  // elements per read from shared memory
  static_assert(TX % kRead == 0, "a thread's columns are whole packs");
  constexpr int kSegment = round_up(TX + WIDTH - 1, kRead);
  constexpr bool kPairs = SWIZZLE && WIDTH != 4;  // a group of filter columns starts at an even quad, so that places differ by constants
#pragma unroll
  for (int r = 0; r < TY + ROWS - 1; ++r) {
    Sum segment[kSegment];
#pragma unroll
    for (int s = 0; s < kSegment; s += kRead) {
      const auto read = load_pack<kRead>(tile + r * PITCH + (kPairs ? column / 2 + place<SWIZZLE, PITCH>(s) : place<SWIZZLE, PITCH>(column + s)));
#pragma unroll
      for (int v = 0; v < kRead; ++v) segment[s + v] = read.element[v];
    }
#pragma unroll
    for (int u = 0; u < ROWS; ++u) {
      if (r - u < 0 || r - u >= TY) continue;
#pragma unroll
      for (int j0 = 0; j0 < WIDTH; j0 += 4) {
        const auto weight = load_pack<4>(weights + u * weights_pitch + j0);
#pragma unroll
        for (int j = j0; j < j0 + 4 && j < WIDTH; ++j) {
#pragma unroll
          for (int x = 0; x < TX; ++x) sum[r - u][x] += segment[x + j] * weight.element[j - j0];
        }
      }
    }
  }
}

// Writes neighbouring results of row y from column x on, those that lie inside.
template <typename T, typename Sum, int TX>
__device__ __forceinline__ void write_columns(T* __restrict__ out, const Sum (&sum)[TX], long long h, long long w, long long x, long long y) {
  constexpr int kWrite = TX < 4 ? TX : 4;
  const bool aligned = w % kWrite == 0;  // a pack then lies inside or outside as a whole
  if (y >= h) return;
  T* const row = out + y * w + x;
#pragma unroll
  for (int c = 0; c < TX; c += kWrite) {
    pack<T, kWrite> written;
#pragma unroll
    for (int v = 0; v < kWrite; ++v) narrow(sum[c + v], written.element[v]);
    if (aligned) {
      if (x + c < w) store_pack(row + c, written);
    } else {
#pragma unroll
      for (int v = 0; v < kWrite; ++v) {
        if (x + c + v < w) row[c + v] = written.element[v];
      }
    }
  }
}
