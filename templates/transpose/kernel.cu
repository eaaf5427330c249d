// y = the transpose of x: x is m x n, y is n x m, both row-major; every m, n >= 1 is right.
//
// A block moves a tile of TILE_M x TILE_N elements of x. A thread reads VEC x VEC elements as VEC packs, transposes them in registers,
// and leaves them in shared memory as packs of y, from where whole rows of the tile of y are written. Without shared memory it writes
// its packs of y itself. The textbook ladder (naive, tiled, padded, swizzled, wide accesses) is made of presets in kernel.json.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "pack.cuh"

// A store that is cached in L2 only, or a plain one.
template <int CACHE_GLOBAL, typename T, int VEC>
__device__ __forceinline__ void store_row(T* p, const pack<T, VEC>& value) {
  if constexpr (CACHE_GLOBAL) {
    static_assert(sizeof(value) == 16, "whole packs of 16 bytes");
    uint4 words;
    memcpy(&words, &value, 16);
    __stcg(reinterpret_cast<uint4*>(p), words);
  } else {
    store_pack(p, value);
  }
}

template <typename T, int SHARED, int TILE_M, int TILE_N, int THREADS, int VEC, int PAD, int SWIZZLE, int BAND, int CACHE_GLOBAL>
__global__ void __launch_bounds__(THREADS) transpose(T* __restrict__ y, const T* __restrict__ x, long long m, long long n) {
  using Pack = pack<T, VEC>;
  constexpr int kPacksM = TILE_M / VEC;  // packs in a row of the tile of y
  constexpr int kPacksN = TILE_N / VEC;  // packs in a row of the tile of x
  constexpr int kItems = kPacksM * kPacksN / THREADS;  // VEC x VEC elements each
  constexpr int kPitch = kPacksM + PAD;
  constexpr int kReadRows = THREADS / kPacksN * VEC;  // rows of x that the block reads at a time
  constexpr int kWriteRows = THREADS / kPacksM;       // rows of y that it writes at a time
  static_assert(kItems >= 1 && kItems * THREADS == kPacksM * kPacksN, "the threads share a tile evenly");
  static_assert(THREADS % kPacksM == 0 && THREADS % kPacksN == 0, "whole rows are read and written at a time");
  static_assert(!SWIZZLE || (kPacksM & (kPacksM - 1)) == 0, "the place in a row is permuted by exclusive or");

  // Tiles are numbered through bands of BAND rows of tiles, column by column in a band. The last band may have fewer rows.
  const long long tiles_m = (m + TILE_M - 1) / TILE_M;
  const long long tiles_n = (n + TILE_N - 1) / TILE_N;
  const long long band = blockIdx.x / (BAND * tiles_n);
  const long long in_band = blockIdx.x % (BAND * tiles_n);
  const long long band_rows = tiles_m - band * BAND < BAND ? tiles_m - band * BAND : BAND;
  const long long row0 = (band * BAND + in_band % band_rows) * TILE_M;
  const long long column0 = in_band / band_rows * TILE_N;
  const int rows_left = static_cast<int>(m - row0 < TILE_M ? m - row0 : TILE_M);
  const int columns_left = static_cast<int>(n - column0 < TILE_N ? n - column0 : TILE_N);

  // Of x a thread reads one column of packs. m and n are multiples of VEC: an item is inside x as a whole or not at all. Addresses are
  // stepped, since with narrow packs it is the arithmetic on indices that takes the time.
  const int first_row = static_cast<int>(threadIdx.x) / kPacksN * VEC;
  const int column = static_cast<int>(threadIdx.x) % kPacksN * VEC;
  const int items_left = column < columns_left ? (rows_left - first_row + kReadRows - 1) / kReadRows : 0;
  Pack items[kItems][VEC];
  {
    const T* from = x + (row0 + first_row) * n + column0 + column;
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      if (i < items_left) {
#pragma unroll
        for (int v = 0; v < VEC; ++v) items[i][v] = load_pack<VEC>(from + v * n);
      }
      from += kReadRows * n;
    }
  }

  // The elements in row v of the item's transpose, as a pack.
  auto transposed = [&](int i, int v) {
    Pack result;
#pragma unroll
    for (int w = 0; w < VEC; ++w) result.element[w] = items[i][w].element[v];
    return result;
  };

  if constexpr (!SHARED) {
    T* to = y + (column0 + column) * m + row0 + first_row;
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      if (i < items_left) {
#pragma unroll
        for (int v = 0; v < VEC; ++v) store_row<CACHE_GLOBAL>(to + v * m, transposed(i, v));
      }
      to += kReadRows;
    }
  } else {
    // Neighbouring threads store VEC rows of the tile of y apart and load within one row. Permuting the places in a row by the number of
    // its group of VEC rows spreads the former over the banks and leaves the latter together.
    extern __shared__ __align__(16) unsigned char shared_memory[];
    Pack* const tile = reinterpret_cast<Pack*>(shared_memory);
    auto place = [](int y_row, int y_pack) { return y_row * kPitch + (SWIZZLE ? y_pack ^ (y_row / VEC) % kPacksM : y_pack); };
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
#pragma unroll
      for (int v = 0; v < VEC; ++v) tile[place(column + v, (first_row + i * kReadRows) / VEC)] = transposed(i, v);
    }
    __syncthreads();

    const int first_y_row = static_cast<int>(threadIdx.x) / kPacksM;
    const int y_pack = static_cast<int>(threadIdx.x) % kPacksM;
    const int writes_left = y_pack * VEC < rows_left ? (columns_left - first_y_row + kWriteRows - 1) / kWriteRows : 0;
    T* to = y + (column0 + first_y_row) * m + row0 + y_pack * VEC;
#pragma unroll
    for (int i = 0; i < kItems * VEC; ++i) {
      if (i < writes_left) store_row<CACHE_GLOBAL>(to, tile[place(first_y_row + i * kWriteRows, y_pack)]);
      to += kWriteRows * m;
    }
  }
}
