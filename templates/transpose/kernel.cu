// y = the transpose of x: x is m x n, y is n x m, both row-major; every m, n >= 1 is right.
//
// A block moves a tile of TILE_M x TILE_N elements of x. A thread reads VEC x VEC elements as VEC packs, transposes them in registers,
// and leaves them in shared memory as packs of y, from where whole rows of the tile of y are written. Without shared memory it writes
// its packs of y itself. The textbook ladder (naive, tiled, padded, swizzled, wide accesses) is made of presets in kernel.json.
//
// Where m is no multiple of a sector (32 bytes), rows of y start anywhere in a sector, and tiles of the same columns would share sectors,
// each writing a part, which costs the L2 cache a read and a write. With ALIGN a tile is a sector taller than what it writes of each row of
// y: from one sector's start to another's, wherever these are in that row.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "pack.cuh"

template <typename T, int SHARED, int TILE_M, int TILE_N, int THREADS, int VEC, int PAD, int SWIZZLE, int BAND, int ALIGN>
__global__ void __launch_bounds__(THREADS) transpose(T* __restrict__ y, const T* __restrict__ x, long long m, long long n) {
  using Pack = pack<T, VEC>;
  constexpr int kPacksM = TILE_M / VEC;  // packs in a row of the tile of y
  constexpr int kPacksN = TILE_N / VEC;  // packs in a row of the tile of x
  constexpr int kItems = kPacksM * kPacksN / THREADS;  // VEC x VEC elements each
  constexpr int kPitch = kPacksM + PAD;
  static_assert(kItems >= 1 && kItems * THREADS == kPacksM * kPacksN, "the threads share a tile evenly");
  static_assert(!SWIZZLE || (kPacksM & (kPacksM - 1)) == 0, "the place in a row is permuted by exclusive or");

  constexpr int kSector = ALIGN ? 32 / sizeof(T) : 0;  // elements
  constexpr int kStep = TILE_M - kSector;              // of a row of y, written by a block
  static_assert(kSector % VEC == 0 && kStep > 0, "sectors are whole packs, and a tile is taller than one");
  static_assert(!ALIGN || SHARED, "rows of y are put together in shared memory");

  // Tiles are numbered through bands of BAND rows of tiles, column by column in a band. The last band may have fewer rows.
  const long long tiles_m = (m + (ALIGN ? kSector - VEC : 0) + kStep - 1) / kStep;
  const long long tiles_n = (n + TILE_N - 1) / TILE_N;
  const long long band = blockIdx.x / (BAND * tiles_n);
  const long long in_band = blockIdx.x % (BAND * tiles_n);
  const long long band_rows = tiles_m - band * BAND < BAND ? tiles_m - band * BAND : BAND;
  const long long row0 = (band * BAND + in_band % band_rows) * kStep - kSector;  // before x in the first tile with ALIGN
  const long long column0 = in_band / band_rows * TILE_N;
  const int first_row = ALIGN && row0 < 0 ? kSector : 0;  // the first and the last but one of the tile that x has
  const int rows_left = static_cast<int>(m - row0 < TILE_M ? m - row0 : TILE_M);
  const int columns_left = static_cast<int>(n - column0 < TILE_N ? n - column0 : TILE_N);
  const T* const x_tile = x + row0 * n + column0;
  T* const y_tile = y + column0 * m + row0;

  // m and n are multiples of VEC: an item is inside x as a whole or not at all.
  Pack items[kItems][VEC];
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const int index = threadIdx.x + i * THREADS;
    const int row = index / kPacksN * VEC;
    const int column = index % kPacksN * VEC;
    if (row >= first_row && row < rows_left && column < columns_left) {
#pragma unroll
      for (int v = 0; v < VEC; ++v) items[i][v] = load_pack<VEC>(x_tile + (row + v) * n + column);
    }
  }

  // The element in row v of the item's transpose, as a pack.
  auto transposed = [&](int i, int v) {
    Pack result;
#pragma unroll
    for (int w = 0; w < VEC; ++w) result.element[w] = items[i][w].element[v];
    return result;
  };

  if constexpr (!SHARED) {
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      const int index = threadIdx.x + i * THREADS;
      const int row = index / kPacksN * VEC;
      const int column = index % kPacksN * VEC;
      if (row < rows_left && column < columns_left) {
#pragma unroll
        for (int v = 0; v < VEC; ++v) store_pack(y_tile + (column + v) * m + row, transposed(i, v));
      }
    }
  } else {
    // Neighbouring threads store VEC rows of the tile of y apart and load within one row. Permuting the places in a row by the number of
    // its group of VEC rows spreads the former over the banks and leaves the latter together.
    extern __shared__ __align__(16) unsigned char shared_memory[];
    Pack* const tile = reinterpret_cast<Pack*>(shared_memory);
    auto place = [](int y_row, int y_pack) { return y_row * kPitch + (SWIZZLE ? y_pack ^ (y_row / VEC) % kPacksM : y_pack); };
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      const int index = threadIdx.x + i * THREADS;
      const int y_pack = index / kPacksN;
      const int y_row = index % kPacksN * VEC;
#pragma unroll
      for (int v = 0; v < VEC; ++v) tile[place(y_row + v, y_pack)] = transposed(i, v);
    }
    __syncthreads();
    constexpr int kStepPacks = kStep / VEC;
    constexpr int kWrites = kStepPacks * TILE_N;
#pragma unroll
    for (int i = 0; i < (kWrites + THREADS - 1) / THREADS; ++i) {
      const int index = threadIdx.x + i * THREADS;
      const int y_row = index / kStepPacks;
      int y_pack = index % kStepPacks;
      if constexpr (ALIGN) {
        // Row c of y starts c * m elements behind a sector's start, and so does this part of it, less what is missing to a sector.
        const unsigned behind = static_cast<unsigned>(column0 + y_row) * static_cast<unsigned>(m) % kSector;
        y_pack += (kSector - static_cast<int>(behind)) / VEC;
      }
      const bool in_tile = kWrites % THREADS == 0 || index < kWrites;
      if (in_tile && y_row < columns_left && y_pack * VEC >= first_row && y_pack * VEC < rows_left) {
        store_pack(y_tile + y_row * m + y_pack * VEC, tile[place(y_row, y_pack)]);
      }
    }
  }
}
