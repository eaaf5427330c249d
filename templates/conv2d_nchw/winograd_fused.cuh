// Winograd's filtering (winograd.cuh) with all but the filters' transformation in one kernel: V and M, each four times as large as the
// pixels that they come from or become, never leave the multiprocessor.
//
// A block makes KB filters of PB = PW * PH patches, all 16 elements of them: 16 * KB * PB sums in registers. The threads are divided among
// the elements; for its element a thread sums TK filters x TP = TW * TH patches, groups of four neighbours, the groups as far apart as the
// element's threads together cover. CB channels at a time are staged in shared memory, twice: U by asynchronous copies, V by the threads,
// each of which takes a patch of a channel to registers while the stage before is multiplied.
#pragma once

#include "async_copy.cuh"
#include "element.cuh"
#include "pack.cuh"
#include "shared_pointer.cuh"
#include "winograd.cuh"

__device__ constexpr int round_up(int value, int step) { return (value + step - 1) / step * step; }

template <typename T, int METHOD, int KB, int PW, int PH, int CB, int TK, int TW, int TH, int BLOCKS>
__global__ void __launch_bounds__(METHOD == 3 ? 16 * (KB / TK) * (PW * PH / (TW * TH)) : 32, BLOCKS)
    winograd_fused(T* __restrict__ out, const T* __restrict__ in, const T*, accumulator_t<T>* work, long long images, int channels, int h,
                   int w, int filters) {
  if constexpr (METHOD == 3) {  // else it is never launched
    using Sum = accumulator_t<T>;
    constexpr int PB = PW * PH;
    constexpr int TP = TW * TH;
    constexpr int kThreadsP = PB / TP;
    constexpr int kThreadsK = KB / TK;
    constexpr int kThreads = 16 * kThreadsP * kThreadsK;
    constexpr int kRows = kThreads / PB;    // channels, and later filters, that the threads take at a time, a patch each
    constexpr int kTurns = 2;               // channels whose operands are in registers
    constexpr int kTakes = CB / kRows;      // patches per thread and stage
    constexpr int kCopies = 16 * CB * KB / 4 / kThreads;
    constexpr int kU = 16 * CB * KB;
    constexpr int kStage = kU + 16 * CB * PB;
    static_assert(KB % TK == 0 && PB % TP == 0 && TK % 8 == 0 && TP % 4 == 0, "the thread tile divides the block tile, in groups of four");
    static_assert(kThreads % PB == 0 && CB % kRows == 0 && KB / 2 % kRows == 0, "each thread takes whole patches");
    static_assert(16 * CB * KB % (4 * kThreads) == 0, "each thread copies as much as any other");

    const winograd_layout<Sum, KB, PB, CB> layout(work, images, channels, h, w, filters);
    const unsigned tiles_k = static_cast<unsigned>(layout.filters / KB);
    const int tile_k = static_cast<int>(blockIdx.x % tiles_k);  // blocks with the same patches follow each other
    const long long plane = static_cast<long long>(h) * w;

    // The patch that this thread takes in, and gives out at the end.
    const int p = threadIdx.x % PB;
    const int row = threadIdx.x / PB;
    const int patch = static_cast<int>(blockIdx.x / tiles_k) * PB + p;
    const bool real = patch < layout.patches;
    const long long image = patch / (layout.tiles_x * layout.tiles_y);
    const int y0 = patch / layout.tiles_x % layout.tiles_y * 2;
    const int x0 = patch % layout.tiles_x * 2;
    unsigned inside = 0;  // which of its 4 x 4 pixels the image has
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      const int y = y0 - 1 + i / 4;
      const int x = x0 - 1 + i % 4;
      if (real && y >= 0 && y < h && x >= 0 && x < w) inside |= 1u << i;
    }
    const T* from[4];  // the corner of each of its rows
#pragma unroll
    for (int i = 0; i < 4; ++i) from[i] = in + (image * channels + row) * plane + static_cast<long long>(y0 - 1 + i) * w + (x0 - 1);
    const Sum* u_from = layout.u + static_cast<long long>(tile_k) * layout.channels * 16 * KB + threadIdx.x * 4;

    extern __shared__ __align__(16) unsigned char shared_memory[];
    Sum* const shared = reinterpret_cast<Sum*>(shared_memory);
    const shared_pointer<Sum> u_to(shared + threadIdx.x * 4);
    const shared_pointer<Sum> v_to(shared + kU + row * PB + p);

    // Part `part` of `parts` of what a stage needs of channels from c0 on: zeros where there are none.
    T staged[kTakes][16];
    auto load_pixels = [&](int c0, int part, int parts) {
#pragma unroll
      for (int q = 0; q < kTakes; ++q) {
        const unsigned valid = c0 + row + q * kRows < channels ? inside : 0;
#pragma unroll
        for (int i = 0; i < 16; ++i) {
          const int at = q * 16 + i;
          if (at < kTakes * 16 * part / parts || at >= kTakes * 16 * (part + 1) / parts) continue;
          staged[q][i] = T(0);
          if (valid >> i & 1) staged[q][i] = from[i / 4][q * kRows * plane + i % 4];
        }
      }
      if (part == parts - 1) {
#pragma unroll
        for (int i = 0; i < 4; ++i) from[i] += CB * plane;
      }
    };
    auto copy_filters = [&](int c0, int stage, int part, int parts) {
#pragma unroll
      for (int i = 0; i < kCopies; ++i) {
        if (i < kCopies * part / parts || i >= kCopies * (part + 1) / parts) continue;
        copy_async<16>(u_to + (stage + i * kThreads * 4), u_from + i * kThreads * 4, c0 < layout.channels);
      }
      if (part == parts - 1) {
        commit_copies();
        u_from += kU;
      }
    };
    auto transform = [&](int stage) {
#pragma unroll
      for (int q = 0; q < kTakes; ++q) {
        Sum d[4][4];
#pragma unroll
        for (int i = 0; i < 16; ++i) d[i / 4][i % 4] = widen(staged[q][i]);
#pragma unroll
        for (int j = 0; j < 4; ++j) transform_pixels(d[0][j], d[1][j], d[2][j], d[3][j]);
#pragma unroll
        for (int i = 0; i < 4; ++i) transform_pixels(d[i][0], d[i][1], d[i][2], d[i][3]);
#pragma unroll
        for (int i = 0; i < 16; ++i) {
          (v_to + (stage + q * kRows * PB + i * CB * PB)).template store<1>(pack<Sum, 1>{{d[i / 4][i % 4]}});
        }
      }
    };

    // Lanes i and i ^ 1 take the same patches of two groups of filters: reads of 16 bytes per lane go by quarters of the warp, two at once where
    // such neighbours (or i and i ^ 2) read the same.
    const int place = threadIdx.x % (kThreadsP * kThreadsK);
    const int element = threadIdx.x / (kThreadsP * kThreadsK);
    const int thread_k = place / (2 * kThreadsP) * 2 + place % 2;
    const int thread_p = place / 2 % kThreadsP;
    const shared_pointer<Sum> u_first(shared + element * (CB * KB) + thread_k * 4);
    const shared_pointer<Sum> v_first(shared + kU + element * (CB * PB) + thread_p * 4);
    Sum u_part[kTurns][TK];
    Sum v_part[kTurns][TP];
    auto read = [&](int turn, shared_pointer<Sum> u, shared_pointer<Sum> v, int c) {
#pragma unroll
      for (int i = 0; i < TK; i += 4) {
        const auto part = (u + (c * KB + i * kThreadsK)).template load<4>();
#pragma unroll
        for (int x = 0; x < 4; ++x) u_part[turn][i + x] = part.element[x];
      }
#pragma unroll
      for (int j = 0; j < TP; j += 4) {
        const auto part = (v + (c * PB + j * kThreadsP)).template load<4>();
#pragma unroll
        for (int x = 0; x < 4; ++x) v_part[turn][j + x] = part.element[x];
      }
    };

    // Along the longer side of the thread's tile, every second line backwards: each product shares an operand with the last.
    Sum sum[TK][TP] = {};
    auto multiply = [&](int turn) {
      constexpr int kLines = TK >= TP ? TK : TP;
      constexpr int kLine = TK >= TP ? TP : TK;
#pragma unroll
      for (int line = 0; line < kLines; ++line) {
#pragma unroll
        for (int step = 0; step < kLine; ++step) {
          const int at = line % 2 == 0 ? step : kLine - 1 - step;
          const int i = TK >= TP ? line : at;
          const int j = TK >= TP ? at : line;
          sum[i][j] += u_part[turn][i] * v_part[turn][j];
        }
      }
    };

    // While a stage is multiplied, the next one is made: first its pixels are asked for, then the filters, so that neither keeps the reads of
    // shared memory waiting for long; late, when they are there, the pixels are transformed.
    constexpr int kLoads = CB * 3 / 8;
    constexpr int kTransform = CB * 3 / 4;
    static_assert(kTransform < CB - 1, "before the barrier of the stage");
    load_pixels(0, 0, 1);
    copy_filters(0, 0, 0, 1);
    transform(0);
    wait_for_copies<0>();
    __syncthreads();
    shared_pointer<Sum> u = u_first;
    shared_pointer<Sum> v = v_first;
    read(0, u, v, 0);
    int next = kStage;  // where the next stage goes
#pragma unroll 1
    for (int c0 = CB; c0 <= layout.channels; c0 += CB) {
#pragma unroll
      for (int c = 0; c < CB; ++c) {
        if (c < CB - 1) {
          read((c + 1) % kTurns, u, v, c + 1);
        } else {
          wait_for_copies<0>();
          __syncthreads();  // the next stage is filled, and everyone is done with this one, but for what is in registers
          u = u_first + next;
          v = v_first + next;
          next = kStage - next;
          read(0, u, v, 0);
        }
        if (c < kLoads) load_pixels(c0, c, kLoads);
        if (c >= kLoads && c < 2 * kLoads) copy_filters(c0, next, c - kLoads, kLoads);
        if (c == kTransform) transform(next);
        multiply(c % kTurns);
      }
    }

    // The elements meet in shared memory, half of the filters at a time. Sums are stored one by one: for packs they would have to lie in
    // neighbouring registers, many in the bank of an operand that they are read with, which the loop would pay for. The patches of a row are
    // ordered such that the threads' stores meet different banks.
    constexpr int kPitch = PB + (kThreadsP + 3) / 4;
    constexpr int kElementPitch = round_up(KB / 2 * kPitch, 32) + (kThreadsP == 2 ? 2 : 16);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      __syncthreads();
#pragma unroll
      for (int i = 0; i < TK / 2; ++i) {
        const int k = i / 4 * 4 * kThreadsK + thread_k * 4 + i % 4;
#pragma unroll
        for (int j = 0; j < TP; ++j) {
          shared[element * kElementPitch + k * kPitch + j % 4 * (PB / 4) + j / 4 * kThreadsP + thread_p] = sum[half * (TK / 2) + i][j];
        }
      }
      __syncthreads();
#pragma unroll
      for (int q = 0; q < KB / 2 / kRows; ++q) {
        const int k = row + q * kRows;
        const int filter = tile_k * KB + half * (KB / 2) + k;
        if (!real || filter >= filters) break;
        Sum m[4][4];
#pragma unroll
        for (int i = 0; i < 16; ++i) m[i / 4][i % 4] = shared[i * kElementPitch + k * kPitch + p % 4 * (PB / 4) + p / 4];
        write_pixels(out + (image * filters + filter) * plane, m, y0, x0, h, w);
      }
    }
  }
}
