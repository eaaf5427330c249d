// Two-dimensional filter of one image, as neural networks define it (cross-correlation): out(y, x) is the sum over i < fh, j < fw of
// image(y + i - (fh - 1) / 2, x + j - (fw - 1) / 2) * filter(i, j), where the image is zero outside. All are row-major, out is as large
// as the image. Every h, w, fh, fw >= 1 is right.
//
// SHARED = 0 is the textbook kernel; 2, for small filters, is in rows.cuh, and 3, for large ones, in row_pairs.cuh. With SHARED = 1 a block
// copies its part of the image with the halo to shared memory, and each thread computes TX neighbouring columns by TY neighbouring rows: a
// row of the tile that was read once serves TX * UNROLL_W products, and with several filter rows written out (UNROLL_H) also several rows
// of results. UNROLL_W filter columns are written out, which is best the whole row; other widths are right too. Filters beyond 33 rows or
// columns are taken in parts of 33.
#include "add_rows.cuh"
#include "async_copy.cuh"
#include "element.cuh"
#include "pack.cuh"
#include "row_pairs.cuh"
#include "rows.cuh"

// Copies the part of the image whose corner is (from_y, from_x) to shared memory, zero outside of the image; INSIDE: all of it lies inside,
// and a row of the image has less than 2^32 bytes.
// A warp takes whole rows, so that what depends on the row is worked out once per row. The tile is at least MIN_WIDTH wide.
template <bool INSIDE, typename T, int WARPS, int MIN_WIDTH, int PITCH, int SWIZZLE, int ASYNC>
__device__ __forceinline__ void fill_tile(accumulator_t<T>* tile, const T* __restrict__ image, long long h, long long w, long long from_y,
                                          long long from_x, int tile_h, int tile_w) {
  constexpr int kSteps = (PITCH + 31) / 32;  // elements of a row per lane
  constexpr int kRows = kSteps < 16 ? 16 / kSteps : 1;  // at a time: enough loads on their way to hide latency, few enough for the registers
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  const int first = INSIDE || from_x >= 0 ? 0 : static_cast<int>(-from_x);  // columns of the tile from here ...
  const int last = INSIDE || w - from_x >= tile_w ? tile_w : static_cast<int>(w - from_x);  // ... to here are inside
  const T* const corner = image + from_y * w + from_x + lane;
  const unsigned row_bytes = static_cast<unsigned>(w * static_cast<long long>(sizeof(T)));
#pragma unroll 1
  for (int r0 = warp; r0 < tile_h; r0 += WARPS * kRows) {
    T staged[kRows][kSteps];
#pragma unroll
    for (int q = 0; q < kRows; ++q) {
      const int r = r0 + q * WARPS < tile_h ? r0 + q * WARPS : tile_h - 1;  // past the end: the last row again
      const bool row_inside = INSIDE || (from_y + r >= 0 && from_y + r < h);
      const T* row = corner + r * w;
      if constexpr (INSIDE) {  // one 32-bit multiplication
        row = reinterpret_cast<const T*>(reinterpret_cast<const char*>(corner) + static_cast<unsigned long long>(r) * row_bytes);
      }
#pragma unroll
      for (int s = 0; s < kSteps; ++s) {
        const int c = lane + s * 32;
        const bool inside = row_inside && (INSIDE || c >= first) && (INSIDE && s * 32 + 32 <= MIN_WIDTH || c < last);
        if constexpr (ASYNC) {
          if (s * 32 + 32 <= MIN_WIDTH || c < tile_w) {
            copy_async<sizeof(T)>(tile + r * PITCH + place<SWIZZLE, PITCH>(c), inside ? row + s * 32 : image, inside);
          }
        } else {
          staged[q][s] = T(0);
          if (inside) staged[q][s] = row[s * 32];
        }
      }
    }
    if constexpr (!ASYNC) {
#pragma unroll
      for (int q = 0; q < kRows; ++q) {
        const int r = r0 + q * WARPS < tile_h ? r0 + q * WARPS : tile_h - 1;
#pragma unroll
        for (int s = 0; s < kSteps; ++s) {
          const int c = lane + s * 32;
          if (s * 32 + 32 <= MIN_WIDTH || c < tile_w) tile[r * PITCH + place<SWIZZLE, PITCH>(c)] = widen(staged[q][s]);
        }
      }
    }
  }
}

template <typename T, int SHARED, int BX, int BY, int TX, int TY, int UNROLL_W, int UNROLL_H, int SWIZZLE, int ASYNC, int UNIFORM>
__global__ void __launch_bounds__(BX* BY) conv2d(T* __restrict__ out, const T* __restrict__ image, const T* __restrict__ filter,
                                                 long long h, long long w, int fh, int fw) {
  using Sum = accumulator_t<T>;  // f16: each element is converted once per block, on its way to shared memory
  static_assert(BX * BY <= 1024, "at most 1024 threads per block");
  const int top = (fh - 1) / 2;
  const int left = (fw - 1) / 2;
  const int thread_x = threadIdx.x % BX;
  const int thread_y = threadIdx.x / BX;
  const unsigned tiles_x = static_cast<unsigned>((w + BX * TX - 1) / (BX * TX));
  const long long x0 = static_cast<long long>(blockIdx.x % tiles_x) * (BX * TX);
  const long long y0 = static_cast<long long>(blockIdx.x / tiles_x) * (BY * TY);

  if constexpr (SHARED == 0) {
    static_assert(TX == 1 && TY == 1, "one result per thread");
    const long long x = x0 + thread_x;
    const long long y = y0 + thread_y;
    if (x >= w || y >= h) return;
    Sum sum = 0;
    for (int i = 0; i < fh; ++i) {
      for (int j = 0; j < fw; ++j) {
        const long long from_y = y + i - top;
        const long long from_x = x + j - left;
        if (from_y >= 0 && from_y < h && from_x >= 0 && from_x < w) {
          sum += widen(image[from_y * w + from_x]) * widen(filter[i * fw + j]);
        }
      }
    }
    narrow(sum, out[y * w + x]);
  } else if constexpr (SHARED == 2) {
    static_assert(TX == 4, "four columns per thread");
    const long long x = x0 + thread_x * TX;
    const long long y = y0 + thread_y * TY;
    if (x >= w || y >= h) return;
    if (w % 4 == 0) {
      filter_rows<true, T, TY, UNROLL_W, UNROLL_H>(out, image, filter, h, w, x, y);
    } else {
      filter_rows<false, T, TY, UNROLL_W, UNROLL_H>(out, image, filter, h, w, x, y);
    }
  } else if constexpr (SHARED == 3) {
    filter_pairs<T, BX, BY, TX, TY, UNROLL_W, UNROLL_H, SWIZZLE>(out, image, filter, h, w, fh, x0, y0);
  } else {
    static_assert(SWIZZLE == 0 || TX == 8, "the exchange is made for eight columns per thread");
    static_assert(ASYNC == 0 || sizeof(T) == sizeof(Sum) && sizeof(T) >= 4, "an asynchronous copy converts nothing");
    constexpr int kThreads = BX * BY;
    constexpr int kPartW = part_width(UNROLL_W);
    constexpr int kPitch = BX * TX + halo_width(UNROLL_W);
    constexpr int kWarps = kThreads / 32;
    static_assert(kThreads % 32 == 0, "whole warps");
    const int warp = threadIdx.x / 32;
    const int lane = threadIdx.x % 32;

    extern __shared__ __align__(16) unsigned char shared_memory[];
    Sum* const weights = reinterpret_cast<Sum*>(shared_memory);

    Sum sum[TY][TX] = {};
    const int column = thread_x * TX;
#pragma unroll 1
    for (int i0 = 0; i0 < fh; i0 += max_part()) {
#pragma unroll 1
      for (int j0 = 0; j0 < fw; j0 += kPartW) {
        const int part_h = fh - i0 < max_part() ? fh - i0 : max_part();
        const int part_w = fw - j0 < kPartW ? fw - j0 : kPartW;
        const int weights_pitch = round_up(part_w, 4);
        Sum* const tile = weights + part_h * weights_pitch;
        if (i0 + j0 > 0) __syncthreads();  // everyone is done with the last part

#pragma unroll 1
        for (int i = warp; i < part_h; i += kWarps) {
          const T* const row = filter + static_cast<long long>(i0 + i) * fw + j0;
#pragma unroll 1
          for (int j = lane; j < part_w; j += 32) weights[i * weights_pitch + j] = widen(row[j]);
        }

        // Most blocks touch no edge of the image: for them a load needs no check.
        const long long from_y = y0 - top + i0;
        const long long from_x = x0 - left + j0;
        const int tile_w = BX * TX + part_w - 1;
        const int tile_h = BY * TY + part_h - 1;
        if (from_y >= 0 && from_y + tile_h <= h && from_x >= 0 && from_x + tile_w <= w && w < 1 << 29) {
          fill_tile<true, T, kThreads / 32, BX * TX, kPitch, SWIZZLE, ASYNC>(tile, image, h, w, from_y, from_x, tile_h, tile_w);
        } else {
          fill_tile<false, T, kThreads / 32, BX * TX, kPitch, SWIZZLE, ASYNC>(tile, image, h, w, from_y, from_x, tile_h, tile_w);
        }
        if constexpr (ASYNC) {
          commit_copies();
          wait_for_copies<0>();
        }
        __syncthreads();

        // Whole groups of UNROLL_W columns, then what is left of them one by one. A group starts where packs are aligned.
        const Sum* const corner = tile + thread_y * TY * kPitch;
        int j = 0;
#pragma unroll 1
        for (; j + UNROLL_W <= part_w; j += UNROLL_W) {
          // Always 0, but the compiler does not know it: a weight whose address could differ between threads stays in an ordinary
          // register. Else it passes through a uniform register, which saves registers and costs an instruction.
          const Sum* const part = weights + j + (UNIFORM ? 0 : threadIdx.z);
          int i = 0;
#pragma unroll 1
          for (; i + UNROLL_H <= part_h; i += UNROLL_H) {
            add_rows<UNROLL_H, UNROLL_W, TX, TY, kPitch, SWIZZLE>(sum, corner + i * kPitch, column + j, part + i * weights_pitch, weights_pitch);
          }
          if constexpr (UNROLL_H > 1) {
#pragma unroll 1
            for (; i < part_h; ++i) {
              add_rows<1, UNROLL_W, TX, TY, kPitch, SWIZZLE>(sum, corner + i * kPitch, column + j, part + i * weights_pitch, weights_pitch);
            }
          }
        }
#pragma unroll 1
        for (; j < part_w; ++j) {
#pragma unroll 1
          for (int i = 0; i < part_h; ++i) {
            const Sum weight = weights[i * weights_pitch + j];
#pragma unroll
            for (int r = 0; r < TY; ++r) {
#pragma unroll
              for (int x = 0; x < TX; ++x) sum[r][x] += corner[(i + r) * kPitch + place<SWIZZLE, kPitch>(column + x + j)] * weight;
            }
          }
        }
      }
    }

    const long long x = x0 + column;
#pragma unroll
    for (int r = 0; r < TY; ++r) write_columns(out, sum[r], h, w, x, y0 + thread_y * TY + r);
  }
}
