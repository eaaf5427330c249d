// The same convolution by Winograd's minimal filtering F(2 x 2, 3 x 3) (Lavin and Gray, Fast algorithms for convolutional neural networks,
// 2015): 2 x 2 pixels of the result come from 4 x 4 pixels of the input by 16 products instead of 36. Four kernels in a row:
//   filters:  U[e] (channels x filters)     each 3 x 3 filter as 4 x 4 elements e
//   pixels:   V[e] (channels x patches)     each 4 x 4 patch of the input likewise
//   multiply: M[e] (filters x patches)      = transposed U[e] * V[e], 16 matrix products
//   results:  each patch's 16 elements of M back to 2 x 2 pixels
// METHOD 3 keeps the last three together, in winograd_fused.cuh.
// U, V and M lie in `work`, in the accumulating type, padded with zeros to whole tiles of `multiply`, which so needs no checks.
#pragma once

#include "async_copy.cuh"
#include "element.cuh"
#include "pack.cuh"

// What all four kernels agree on. KB filters and PB = PW * PH patches per tile of `multiply`, CB channels at a time.
template <typename Sum, int KB, int PB, int CB>
struct winograd_layout {
  int tiles_x, tiles_y, patches;           // patches along a row and a column of one image, and in all
  int channels, filters, padded_patches;   // padded to whole tiles
  Sum *u, *v, *m;

  __device__ winograd_layout(Sum* work, long long images, int real_channels, int h, int w, int real_filters) {
    tiles_x = (w + 1) / 2;
    tiles_y = (h + 1) / 2;
    patches = static_cast<int>(images) * tiles_y * tiles_x;
    channels = (real_channels + CB - 1) / CB * CB;
    filters = (real_filters + KB - 1) / KB * KB;
    padded_patches = (patches + PB - 1) / PB * PB;
    u = work;
    v = u + 16LL * channels * filters;
    m = v + 16LL * channels * padded_patches;
  }
};

// B^T d of the four elements of a row or column.
template <typename Sum>
__device__ __forceinline__ void transform_pixels(Sum& a, Sum& b, Sum& c, Sum& d) {
  const Sum first = a - c;
  const Sum second = b + c;
  const Sum third = c - b;
  const Sum fourth = b - d;
  a = first;
  b = second;
  c = third;
  d = fourth;
}

// A^T m A: the 2 x 2 pixels at (y0, x0) of the image `to`, those that it has.
template <typename T, typename Sum>
__device__ __forceinline__ void write_pixels(T* to, const Sum (&m)[4][4], int y0, int x0, int h, int w) {
  Sum columns[2][4];
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    columns[0][j] = m[0][j] + (m[1][j] + m[2][j]);
    columns[1][j] = (m[1][j] - m[2][j]) - m[3][j];
  }
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    if (y0 + i >= h) break;
    T* const row = to + static_cast<long long>(y0 + i) * w + x0;
    pack<T, 2> written;
    narrow(columns[i][0] + (columns[i][1] + columns[i][2]), written.element[0]);
    narrow((columns[i][1] - columns[i][2]) - columns[i][3], written.element[1]);
    if (w % 2 == 0) {  // both pixels are inside, and aligned
      store_pack(row, written);
    } else {
      row[0] = written.element[0];
      if (x0 + 1 < w) row[1] = written.element[1];
    }
  }
}

template <typename T, int KB, int PW, int PH, int CB, int METHOD>
__global__ void __launch_bounds__(256)
    winograd_filters(T*, const T*, const T* __restrict__ weights, accumulator_t<T>* work, long long images, int channels, int h, int w,
                     int filters) {
  using Sum = accumulator_t<T>;
  const winograd_layout<Sum, KB, PW * PH, CB> layout(work, images, channels, h, w, filters);
  const long long index = static_cast<long long>(blockIdx.x) * 256 + threadIdx.x;
  if (index >= static_cast<long long>(layout.channels) * layout.filters) return;
  const int c = static_cast<int>(index / layout.filters);
  const int k = static_cast<int>(index % layout.filters);
  Sum g[3][3] = {};
  if (c < channels && k < filters) {
    const T* const from = weights + (static_cast<long long>(k) * channels + c) * 9;
#pragma unroll
    for (int tap = 0; tap < 9; ++tap) g[tap / 3][tap % 3] = widen(from[tap]);
  }
  const Sum half = Sum(0.5);
  Sum rows[4][3];
#pragma unroll
  for (int j = 0; j < 3; ++j) {
    rows[0][j] = g[0][j];
    rows[1][j] = half * ((g[0][j] + g[2][j]) + g[1][j]);
    rows[2][j] = half * ((g[0][j] + g[2][j]) - g[1][j]);
    rows[3][j] = g[2][j];
  }
  // METHOD 3 reads a tile of KB filters and CB channels in one piece.
  const long long tile = static_cast<long long>(k / KB) * (layout.channels / CB) + c / CB;
  const long long place = METHOD == 3 ? tile * 16 * CB * KB + c % CB * KB + k % KB : index;
  const long long matrix = METHOD == 3 ? CB * KB : static_cast<long long>(layout.channels) * layout.filters;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    Sum* const to = layout.u + place + i * 4 * matrix;
    to[0] = rows[i][0];
    to[matrix] = half * ((rows[i][0] + rows[i][2]) + rows[i][1]);
    to[2 * matrix] = half * ((rows[i][0] + rows[i][2]) - rows[i][1]);
    to[3 * matrix] = rows[i][2];
  }
}

template <typename T, int KB, int PW, int PH, int CB>
__global__ void __launch_bounds__(256)
    winograd_pixels(T*, const T* __restrict__ in, const T*, accumulator_t<T>* work, long long images, int channels, int h, int w,
                    int filters) {
  using Sum = accumulator_t<T>;
  const winograd_layout<Sum, KB, PW * PH, CB> layout(work, images, channels, h, w, filters);
  const unsigned blocks = static_cast<unsigned>((layout.padded_patches + 255) / 256);  // per channel
  const int c = static_cast<int>(blockIdx.x / blocks);
  const int patch = static_cast<int>(blockIdx.x % blocks) * 256 + threadIdx.x;
  if (patch >= layout.padded_patches) return;
  Sum d[4][4] = {};
  if (c < channels && patch < layout.patches) {
    const int image = patch / (layout.tiles_x * layout.tiles_y);
    const int y0 = patch / layout.tiles_x % layout.tiles_y * 2 - 1;
    const int x0 = patch % layout.tiles_x * 2 - 1;
    const T* const from = in + (static_cast<long long>(image) * channels + c) * h * w;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const int y = y0 + i;
        const int x = x0 + j;
        if (y >= 0 && y < h && x >= 0 && x < w) d[i][j] = widen(from[static_cast<long long>(y) * w + x]);
      }
    }
  }
#pragma unroll
  for (int j = 0; j < 4; ++j) transform_pixels(d[0][j], d[1][j], d[2][j], d[3][j]);
#pragma unroll
  for (int i = 0; i < 4; ++i) transform_pixels(d[i][0], d[i][1], d[i][2], d[i][3]);
  const long long matrix = static_cast<long long>(layout.channels) * layout.padded_patches;
  Sum* const to = layout.v + static_cast<long long>(c) * layout.padded_patches + patch;
#pragma unroll
  for (int e = 0; e < 16; ++e) to[e * matrix] = d[e / 4][e % 4];
}

// A block makes KB x PB of one of the 16 products, a thread TK x (TW * TH): groups of four neighbours, the groups as far apart as all threads
// together cover. STAGES tiles are in flight.
template <typename T, int KB, int PW, int PH, int CB, int TK, int TW, int TH, int STAGES, int BLOCKS>
__global__ void __launch_bounds__((KB / TK) * (PW * PH / (TW * TH)), BLOCKS)
    winograd_multiply(T*, const T*, const T*, accumulator_t<T>* work, long long images, int channels, int h, int w, int filters) {
  using Sum = accumulator_t<T>;
  constexpr int PB = PW * PH;
  constexpr int TP = TW * TH;
  constexpr int kThreadsP = PB / TP;
  constexpr int kThreads = kThreadsP * (KB / TK);
  if constexpr (TK % 4 == 0 && TP % 4 == 0 && KB % TK == 0 && PB % TP == 0 && STAGES >= 2) {  // else it is never launched
    const winograd_layout<Sum, KB, PW * PH, CB> layout(work, images, channels, h, w, filters);
    const unsigned tiles_k = static_cast<unsigned>(layout.filters / KB);
    const unsigned tiles_p = static_cast<unsigned>(layout.padded_patches / PB);
    const int k0 = static_cast<int>(blockIdx.x % tiles_k) * KB;  // blocks with the same patches follow each other
    const int p0 = static_cast<int>(blockIdx.x / tiles_k % tiles_p) * PB;
    const int e = static_cast<int>(blockIdx.x / tiles_k / tiles_p);
    const Sum* const u = layout.u + static_cast<long long>(e) * layout.channels * layout.filters + k0;
    const Sum* const v = layout.v + static_cast<long long>(e) * layout.channels * layout.padded_patches + p0;

    extern __shared__ __align__(16) unsigned char shared_memory[];
    Sum* const stages = reinterpret_cast<Sum*>(shared_memory);
    constexpr int kStage = CB * (KB + PB);

    constexpr int kLoadsU = (CB * KB / 4 + kThreads - 1) / kThreads;
    constexpr int kLoadsV = (CB * PB / 4 + kThreads - 1) / kThreads;
    const Sum* next_u = u;  // of the stage that is loaded next
    const Sum* next_v = v;
    auto load = [&](Sum* stage) {
#pragma unroll
      for (int i = 0; i < kLoadsU; ++i) {
        const int index = threadIdx.x + i * kThreads;
        if (CB * KB / 4 % kThreads == 0 || index < CB * KB / 4) {
          copy_async<16>(stage + index * 4, next_u + index / (KB / 4) * layout.filters + index % (KB / 4) * 4);
        }
      }
#pragma unroll
      for (int i = 0; i < kLoadsV; ++i) {
        const int index = threadIdx.x + i * kThreads;
        if (CB * PB / 4 % kThreads == 0 || index < CB * PB / 4) {
          copy_async<16>(stage + CB * KB + index * 4, next_v + index / (PB / 4) * layout.padded_patches + index % (PB / 4) * 4);
        }
      }
      next_u += CB * layout.filters;
      next_v += CB * layout.padded_patches;
    };

    const int thread_p = threadIdx.x % kThreadsP;
    const int thread_k = threadIdx.x / kThreadsP;
    Sum sum[TK][TP] = {};
#pragma unroll
    for (int s = 0; s < STAGES - 1; ++s) {
      if (s * CB < layout.channels) load(stages + s * kStage);
      commit_copies();
    }
    int stage = 0;
#pragma unroll 1
    for (int c0 = 0; c0 < layout.channels; c0 += CB) {
      wait_for_copies<STAGES - 2>();
      __syncthreads();  // this stage is filled, and everyone is done with the one before it
      if (c0 + (STAGES - 1) * CB < layout.channels) load(stages + (stage == 0 ? STAGES - 1 : stage - 1) * kStage);
      commit_copies();
      const Sum* const now = stages + stage * kStage;
#pragma unroll
      for (int c = 0; c < CB; ++c) {
        Sum u_part[TK];
        Sum v_part[TP];
#pragma unroll
        for (int i = 0; i < TK; i += 4) {
          const auto read = load_pack<4>(now + c * KB + i * (KB / TK) + thread_k * 4);
#pragma unroll
          for (int x = 0; x < 4; ++x) u_part[i + x] = read.element[x];
        }
#pragma unroll
        for (int j = 0; j < TP; j += 4) {
          const auto read = load_pack<4>(now + CB * KB + c * PB + j * kThreadsP + thread_p * 4);
#pragma unroll
          for (int x = 0; x < 4; ++x) v_part[j + x] = read.element[x];
        }
#pragma unroll
        for (int i = 0; i < TK; ++i) {
#pragma unroll
          for (int j = 0; j < TP; ++j) sum[i][j] += u_part[i] * v_part[j];
        }
      }
      stage = stage == STAGES - 1 ? 0 : stage + 1;
    }

    Sum* const m = layout.m + (static_cast<long long>(e) * layout.filters + k0) * layout.padded_patches + p0;
#pragma unroll
    for (int i = 0; i < TK; ++i) {
      const int k = i / 4 * 4 * (KB / TK) + thread_k * 4 + i % 4;
#pragma unroll
      for (int j = 0; j < TP; j += 4) {
        pack<Sum, 4> written;
#pragma unroll
        for (int x = 0; x < 4; ++x) written.element[x] = sum[i][j + x];
        store_pack(m + static_cast<long long>(k) * layout.padded_patches + j * kThreadsP + thread_p * 4, written);
      }
    }
  }
}

template <typename T, int KB, int PW, int PH, int CB>
__global__ void __launch_bounds__(256)
    winograd_results(T* __restrict__ out, const T*, const T*, accumulator_t<T>* work, long long images, int channels, int h, int w,
                     int filters) {
  using Sum = accumulator_t<T>;
  const winograd_layout<Sum, KB, PW * PH, CB> layout(work, images, channels, h, w, filters);
  const unsigned blocks = static_cast<unsigned>((layout.patches + 255) / 256);  // per filter
  const int k = static_cast<int>(blockIdx.x / blocks);
  const int patch = static_cast<int>(blockIdx.x % blocks) * 256 + threadIdx.x;
  if (patch >= layout.patches) return;
  const long long matrix = static_cast<long long>(layout.filters) * layout.padded_patches;
  const Sum* const from = layout.m + static_cast<long long>(k) * layout.padded_patches + patch;
  Sum m[4][4];
#pragma unroll
  for (int e = 0; e < 16; ++e) m[e / 4][e % 4] = from[e * matrix];
  const int image = patch / (layout.tiles_x * layout.tiles_y);
  const int y0 = patch / layout.tiles_x % layout.tiles_y * 2;
  const int x0 = patch % layout.tiles_x * 2;
  write_pixels(out + (static_cast<long long>(image) * filters + k) * h * w, m, y0, x0, h, w);
}
