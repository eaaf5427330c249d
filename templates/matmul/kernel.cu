// C = A * B, row-major: A is m x k, B is k x n, C is m x n. Every m, n, k >= 1 is right.
//
// One template holds the textbook ladder: without shared memory (SHARED = 0), tiled, padded, with wide loads, with a block of
// results per thread, and with two tiles in flight. Each rung is a preset in kernel.json.
//
// The blocks are one-dimensional and so is the grid: tiles of C are numbered along n first, so that blocks which run at the same
// time read the same rows of A, and no dimension of C meets the limit of 65535 blocks along y.
#include "element.cuh"
#include "pack.cuh"

// The widest read from shared memory: 16 bytes, unless a thread has fewer neighbours or the padding breaks the alignment.
__device__ constexpr int read_width(int per_thread, int pad, int element_bytes) {
  int width = 16 / element_bytes;
  while (per_thread % width != 0 || pad % width != 0) width /= 2;
  return width;
}

template <typename T, int SHARED, int BM, int BN, int BK, int TM, int TN, int PAD, int VEC, int UNROLL, int STAGES,
          int A_COLUMN_MAJOR>
__global__ void __launch_bounds__((BM / TM) * (BN / TN))
    matmul(T* __restrict__ c, const T* __restrict__ a, const T* __restrict__ b, long long m, long long n, long long k) {
  using Sum = accumulator_t<T>;  // f16: each element is converted once per block, on its way to shared memory
  constexpr int kThreadsN = BN / TN;
  constexpr int kThreads = kThreadsN * (BM / TM);
  static_assert(BM % TM == 0 && BN % TN == 0, "the thread tile divides the block tile");
  static_assert(kThreads <= 1024, "at most 1024 threads per block");
  static_assert(BK % UNROLL == 0, "UNROLL divides BK");

  const int thread_n = threadIdx.x % kThreadsN;
  const int thread_m = threadIdx.x / kThreadsN;
  const unsigned tiles_n = static_cast<unsigned>((n + BN - 1) / BN);
  const long long row0 = static_cast<long long>(blockIdx.x / tiles_n) * BM;
  const long long column0 = static_cast<long long>(blockIdx.x % tiles_n) * BN;

  if constexpr (SHARED == 0) {
    static_assert(TM == 1 && TN == 1, "one result per thread");
    const long long row = row0 + thread_m;
    const long long column = column0 + thread_n;
    if (row >= m || column >= n) return;
    const T* a_row = a + row * k;
    const T* b_column = b + column;
    Sum sum = 0;
    long long p = 0;
#pragma unroll 1
    for (; p + UNROLL <= k; p += UNROLL) {
#pragma unroll
      for (int u = 0; u < UNROLL; ++u) {
        sum += widen(a_row[u]) * widen(b_column[u * n]);
      }
      a_row += UNROLL;
      b_column += UNROLL * n;
    }
#pragma unroll 1
    for (; p < k; ++p) {
      sum += widen(*a_row) * widen(*b_column);
      a_row += 1;
      b_column += n;
    }
    narrow(sum, c[row * n + column]);
  } else {
    constexpr int kAPacks = BM * BK / (kThreads * VEC);  // packs that one thread moves per tile
    constexpr int kBPacks = BK * BN / (kThreads * VEC);
    static_assert(kAPacks * kThreads * VEC == BM * BK, "the threads share a tile of A evenly");
    static_assert(kBPacks * kThreads * VEC == BK * BN, "the threads share a tile of B evenly");
    static_assert(BK % VEC == 0 && BN % VEC == 0, "packs do not straddle rows");
    static_assert(PAD % VEC == 0, "packs stay aligned in padded rows");
    static_assert(STAGES == 1 || STAGES == 2, "one or two tiles in flight");

    constexpr int kAPitch = (A_COLUMN_MAJOR ? BM : BK) + PAD;
    constexpr int kBPitch = BN + PAD;
    constexpr int kASize = (A_COLUMN_MAJOR ? BK : BM) * kAPitch;
    constexpr int kBSize = BK * kBPitch;
    constexpr int kReadM = A_COLUMN_MAJOR ? read_width(TM, PAD, sizeof(Sum)) : 1;
    constexpr int kReadN = read_width(TN, PAD, sizeof(Sum));

    extern __shared__ __align__(16) unsigned char shared_memory[];
    Sum* const a_tiles = reinterpret_cast<Sum*>(shared_memory);
    Sum* const b_tiles = a_tiles + STAGES * kASize;

    // What is left of C below and to the right of this tile's corner, in int: the loop compares with it.
    const int rows_left = static_cast<int>(m - row0 < BM ? m - row0 : BM);
    const int columns_left = static_cast<int>(n - column0 < BN ? n - column0 : BN);
    const T* a_tile = a + row0 * k;
    const T* b_tile = b + column0;

    pack<T, VEC> a_staged[kAPacks];
    pack<T, VEC> b_staged[kBPacks];

    // Global memory to registers; zero outside the matrices, so that what is multiplied there adds nothing.
    auto load = [&](int depth_left) {
#pragma unroll
      for (int i = 0; i < kAPacks; ++i) {
        const int index = threadIdx.x + i * kThreads;
        const int row = index / (BK / VEC);
        const int depth = index % (BK / VEC) * VEC;
        a_staged[i] = pack<T, VEC>{};
        if (row < rows_left && depth < depth_left) {
          a_staged[i] = *reinterpret_cast<const pack<T, VEC>*>(a_tile + row * k + depth);
        }
      }
#pragma unroll
      for (int i = 0; i < kBPacks; ++i) {
        const int index = threadIdx.x + i * kThreads;
        const int depth = index / (BN / VEC);
        const int column = index % (BN / VEC) * VEC;
        b_staged[i] = pack<T, VEC>{};
        if (depth < depth_left && column < columns_left) {
          b_staged[i] = *reinterpret_cast<const pack<T, VEC>*>(b_tile + depth * n + column);
        }
      }
    };

    // Registers to shared memory, A transposed where it is kept by columns.
    auto store = [&](Sum* a_shared, Sum* b_shared) {
#pragma unroll
      for (int i = 0; i < kAPacks; ++i) {
        const int index = threadIdx.x + i * kThreads;
        const int row = index / (BK / VEC);
        const int depth = index % (BK / VEC) * VEC;
#pragma unroll
        for (int v = 0; v < VEC; ++v) {
          a_shared[A_COLUMN_MAJOR ? (depth + v) * kAPitch + row : row * kAPitch + depth + v] = widen(a_staged[i].element[v]);
        }
      }
#pragma unroll
      for (int i = 0; i < kBPacks; ++i) {
        const int index = threadIdx.x + i * kThreads;
        const int depth = index / (BN / VEC);
        const int column = index % (BN / VEC) * VEC;
        pack<Sum, VEC> wide;
#pragma unroll
        for (int v = 0; v < VEC; ++v) wide.element[v] = widen(b_staged[i].element[v]);
        *reinterpret_cast<pack<Sum, VEC>*>(b_shared + depth * kBPitch + column) = wide;
      }
    };

    // A thread's rows (columns) are groups of kReadM (kReadN) neighbours, the groups as far apart as all threads together cover:
    // neighbouring threads then read neighbouring packs.
    Sum sum[TM][TN] = {};
    auto multiply = [&](const Sum* a_shared, const Sum* b_shared) {
#pragma unroll 1
      for (int depth0 = 0; depth0 < BK; depth0 += UNROLL) {
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) {
          const int depth = depth0 + u;
          Sum a_part[TM];
          Sum b_part[TN];
#pragma unroll
          for (int i = 0; i < TM; i += kReadM) {
            const int row = i * (BM / TM) + thread_m * kReadM;
            const auto read = *reinterpret_cast<const pack<Sum, kReadM>*>(
                a_shared + (A_COLUMN_MAJOR ? depth * kAPitch + row : row * kAPitch + depth));
#pragma unroll
            for (int v = 0; v < kReadM; ++v) a_part[i + v] = read.element[v];
          }
#pragma unroll
          for (int j = 0; j < TN; j += kReadN) {
            const auto read = *reinterpret_cast<const pack<Sum, kReadN>*>(
                b_shared + depth * kBPitch + j * kThreadsN + thread_n * kReadN);
#pragma unroll
            for (int v = 0; v < kReadN; ++v) b_part[j + v] = read.element[v];
          }
#pragma unroll
          for (int i = 0; i < TM; ++i) {
#pragma unroll
            for (int j = 0; j < TN; ++j) sum[i][j] += a_part[i] * b_part[j];
          }
        }
      }
    };

    if constexpr (STAGES == 1) {
#pragma unroll 1
      for (long long depth = 0; depth < k; depth += BK) {
        load(static_cast<int>(k - depth < BK ? k - depth : BK));
        a_tile += BK;
        b_tile += BK * n;
        if (depth > 0) __syncthreads();  // everyone is done with the last tile
        store(a_tiles, b_tiles);
        __syncthreads();
        multiply(a_tiles, b_tiles);
      }
    } else {
      load(static_cast<int>(k < BK ? k : BK));
      store(a_tiles, b_tiles);
      __syncthreads();
      int stage = 0;
#pragma unroll 1
      for (long long depth = 0; depth < k; depth += BK) {
        a_tile += BK;
        b_tile += BK * n;
        const long long depth_left = k - depth - BK;  // at most 0 after the last tile: load() then reads nothing
        load(static_cast<int>(depth_left < BK ? depth_left : BK));  // on its way while the other tile is multiplied
        multiply(a_tiles + stage * kASize, b_tiles + stage * kBSize);
        stage ^= 1;
        store(a_tiles + stage * kASize, b_tiles + stage * kBSize);
        __syncthreads();
      }
    }

    constexpr int kWrite = VEC < kReadN ? VEC : kReadN;
    T* const c_tile = c + row0 * n + column0;
#pragma unroll
    for (int i = 0; i < TM; ++i) {
      const int row = i / kReadM * kReadM * (BM / TM) + thread_m * kReadM + i % kReadM;
#pragma unroll
      for (int j = 0; j < TN; j += kWrite) {
        const int column = j / kReadN * kReadN * kThreadsN + thread_n * kReadN + j % kReadN;
        if (row < rows_left && column < columns_left) {
          pack<T, kWrite> written;
#pragma unroll
          for (int w = 0; w < kWrite; ++w) narrow(sum[i][j + w], written.element[w]);
          *reinterpret_cast<pack<T, kWrite>*>(c_tile + row * n + column) = written;
        }
      }
    }
  }
}
