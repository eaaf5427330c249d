// y = the transpose of x: x is m x n, y is n x m, both row-major; every m, n >= 1 is right.
//
// A block moves a tile of TILE_M x TILE_N elements of x. A thread reads VEC x VEC elements as VEC packs, transposes them in registers,
// and leaves them in shared memory as packs of y, from where whole rows of the tile of y are written. Without shared memory it writes
// its packs of y itself.
//
// Where the rows of y begin anywhere in a sector of memory, which is 32 bytes, tiles whose rows begin at the same column would write parts
// of sectors, twice at each of their borders. ALIGN moves the begin of each row of a tile of y to such a border.
//
// The textbook ladder (naive, tiled, padded, swizzled, wide accesses) is made of presets in kernel.json.
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

// A tile whose row j of y has the columns from row0 - shift(j) on, shift(j) being what row0 is too far behind a border. Up to SHIFT - 1 rows
// of x above the tile belong to it then: they are read once more by the tile above. The lowest tile has what is left. WHOLE: it is not that
// one, and all elements of tile and rows above are there.
template <typename T, int TILE_M, int TILE_N, int THREADS, int SHIFT, bool WHOLE>
__device__ __forceinline__ void move_shifted_tile(T* __restrict__ y, const T* __restrict__ x, long long m, long long n, long long row0,
                                                  long long column0, int rows_left, int columns_left) {
  constexpr int kPitch = TILE_M + SHIFT + 1;  // odd: a column of the tile is spread over the banks
  constexpr int kReadRows = THREADS / TILE_N;
  constexpr int kReads = (TILE_M + SHIFT + kReadRows - 1) / kReadRows;
  constexpr int kWriteRows = THREADS / TILE_M;
  extern __shared__ __align__(16) unsigned char shared_memory[];
  T* const tile = reinterpret_cast<T*>(shared_memory);
  const int first_left = row0 == 0 ? 0 : -SHIFT;  // rows of x that are there, relative to row0, are this one to rows_left

  {
    const int first_row = static_cast<int>(threadIdx.x) / TILE_N - SHIFT;
    const int column = static_cast<int>(threadIdx.x) % TILE_N;
    const int end = column < columns_left ? rows_left : first_left;
    const T* from = x + (row0 + first_row) * n + column0 + column;
    T* const to = tile + column * kPitch + SHIFT + first_row;
    auto in_tile = [=](int i) { return (i + 1) * kReadRows <= TILE_M + SHIFT || first_row + i * kReadRows < TILE_M; };
    T items[kReads];
#pragma unroll
    for (int i = 0; i < kReads; ++i) {
      const int row = first_row + i * kReadRows;
      if (in_tile(i) && (WHOLE || (row >= first_left && row < end))) items[i] = *from;
      from += kReadRows * n;
    }
#pragma unroll
    for (int i = 0; i < kReads; ++i) {
      if (in_tile(i)) to[i * kReadRows] = items[i];
    }
  }
  __syncthreads();

  // Rows SHIFT apart are shifted alike: a thread takes such rows one after the other.
  constexpr int kStep = kWriteRows > SHIFT ? kWriteRows : SHIFT;
  const int lane = static_cast<int>(threadIdx.x) % TILE_M;
#pragma unroll
  for (int first = 0; first < (kStep < TILE_N ? kStep : TILE_N); first += kWriteRows) {
    const int first_row = first + static_cast<int>(threadIdx.x) / TILE_M;
    const long long begin = (column0 + first_row) * m + row0;
    const int shift = static_cast<int>(static_cast<unsigned>(begin) % SHIFT);
    const int column = lane - shift;
    const int end = column >= first_left && column < rows_left ? columns_left : 0;
    const int rest_end = !WHOLE && row0 + TILE_M >= m && column + TILE_M < rows_left ? columns_left : 0;
    const T* const from = tile + first_row * kPitch + SHIFT + column;
    T* to = y + begin + column;
#pragma unroll
    for (int row = 0; row < TILE_N - first; row += kStep) {
      if (WHOLE || first_row + row < end) *to = from[row * kPitch];
      if (!WHOLE && first_row + row < rest_end) to[TILE_M] = from[row * kPitch + TILE_M];
      to += kStep * m;
    }
  }
}

template <typename T, int SHARED, int TILE_M, int TILE_N, int THREADS, int VEC, int PAD, int SWIZZLE, int BAND, int CACHE_GLOBAL,
          int ALIGN>
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

  // Tiles are numbered through bands of BAND rows of tiles, column by column in a band. The last band may have fewer rows. There are not
  // more tiles than 32 bits count, and division by 64 bits would take a good part of a block's time.
  const unsigned tiles_m = static_cast<unsigned>((m + TILE_M - 1) / TILE_M);
  const unsigned tiles_n = static_cast<unsigned>((n + TILE_N - 1) / TILE_N);
  const unsigned height = BAND < tiles_m ? BAND : tiles_m;
  const unsigned band = blockIdx.x / (height * tiles_n);
  const unsigned in_band = blockIdx.x - band * (height * tiles_n);
  const unsigned band_rows = tiles_m - band * height < height ? tiles_m - band * height : height;
  const unsigned tile_column = BAND == 1 ? in_band : in_band / band_rows;
  const long long row0 = static_cast<long long>(band * height + (BAND == 1 ? 0 : in_band - tile_column * band_rows)) * TILE_M;
  const long long column0 = static_cast<long long>(tile_column) * TILE_N;
  const int rows_left = static_cast<int>(m - row0 < TILE_M ? m - row0 : TILE_M);
  const int columns_left = static_cast<int>(n - column0 < TILE_N ? n - column0 : TILE_N);

  if constexpr (ALIGN > 0) {
    static_assert(VEC == 1 && SHARED && PAD, "single elements by way of shared memory");
    constexpr int kShift = ALIGN / static_cast<int>(sizeof(T));
    const bool whole = row0 > 0 && row0 + TILE_M < m && columns_left == TILE_N;
    if (whole) {
      move_shifted_tile<T, TILE_M, TILE_N, THREADS, kShift, true>(y, x, m, n, row0, column0, rows_left, columns_left);
    } else {
      move_shifted_tile<T, TILE_M, TILE_N, THREADS, kShift, false>(y, x, m, n, row0, column0, rows_left, columns_left);
    }
    return;
  }

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
