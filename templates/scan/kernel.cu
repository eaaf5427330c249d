// y[i] = x[0] + ... + x[i] (inclusive) or x[0] + ... + x[i - 1] (exclusive). Every n >= 1 is right, and every alignment of x and y.
//
// Two methods. two_pass: the blocks add up their shares of x (launch 1), one block scans these sums (launch 2), the blocks read their
// shares again and scan them (launch 3): 3 n elements moved. look_back: one launch, 2 n elements moved, see look_back.cuh.
// Both add in an order that only the launch shape decides: the same call gives the same bits.
#include "look_back.cuh"
#include "tile.cuh"

enum TileOrder { by_block, by_ticket };
enum Clear { last_block, second_launch };

__device__ __forceinline__ bool is_aligned(const void* p, int bytes) {
  return reinterpret_cast<unsigned long long>(p) % static_cast<unsigned>(bytes) == 0;
}

// Tiles of a block's share in two_pass; neighbouring ones.
__device__ __forceinline__ long long tiles_per_block(long long n, int tile_elements) {
  const long long tiles = (n + tile_elements - 1) / tile_elements;
  return (tiles + gridDim.x - 1) / gridDim.x;
}

// Launch 1 of two_pass: what each block's share adds up to. Word 0 of `sums` is the number of blocks, their sums follow.
template <typename T, Step STEP, int BLOCK, int ITEMS, int VEC, int TRANSPOSE, int PAD>
__global__ void __launch_bounds__(BLOCK)
    scan_sums(T* __restrict__, const T* __restrict__ x, unsigned long long* __restrict__ sums, unsigned long long*, int, long long n,
              long long) {
  using Tile = tile<T, STEP, BLOCK, ITEMS, VEC, TRANSPOSE, PAD>;
  using Sum = typename Tile::Sum;
  using Shape = typename Tile::Shape;
  __shared__ Sum shared[BLOCK];
  const bool aligned = is_aligned(x, VEC * sizeof(T));
  const long long share = tiles_per_block(n, Shape::kElements) * Shape::kElements;
  const long long begin = blockIdx.x * share;
  const long long end = begin + share < n ? begin + share : n;
  Sum sum[VEC] = {};
#pragma unroll 1
  for (long long first = begin; first < end; first += Shape::kElements) {
    pack<T, VEC> held[Shape::kPacks];
    const long long offset = Tile::warp_offset(first);
    load_warp<T, Shape, VEC>(held, x + offset, n - offset, aligned);
#pragma unroll
    for (int i = 0; i < Shape::kPacks; ++i) {
#pragma unroll
      for (int v = 0; v < VEC; ++v) sum[v] += widen(held[i].element[v]);
    }
  }
#pragma unroll
  for (int v = 1; v < VEC; ++v) sum[0] += sum[v];
  if constexpr (STEP == shuffle) {
#pragma unroll
    for (int lanes = 16; lanes > 0; lanes /= 2) sum[0] += __shfl_down_sync(0xffffffffu, sum[0], lanes);
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = sum[0];
    __syncthreads();
    if (threadIdx.x == 0) {
      for (int warp = 1; warp < Shape::kWarps; ++warp) sum[0] += shared[warp];
    }
  } else {
    shared[threadIdx.x] = sum[0];
    __syncthreads();
    for (int distance = BLOCK / 2; distance > 0; distance /= 2) {
      if (threadIdx.x < distance) shared[threadIdx.x] += shared[threadIdx.x + distance];
      __syncthreads();
    }
    sum[0] = shared[0];
  }
  if (threadIdx.x == 0) {
    reinterpret_cast<Sum*>(sums + 1)[blockIdx.x] = sum[0];
    if (blockIdx.x == 0) sums[0] = gridDim.x;
  }
}

// Launch 2 of two_pass, one block: an exclusive scan of these sums, in place. They are scanned in tiles as x is.
template <typename T, Step STEP, int BLOCK>
__global__ void __launch_bounds__(BLOCK)
    scan_of_sums(T* __restrict__, const T* __restrict__, unsigned long long* sums, unsigned long long*, int, long long, long long) {
  using Sum = accumulator_t<T>;
  using Tile = tile<Sum, STEP, BLOCK, 4, 1, 1, 1>;
  __shared__ pack<Sum, 1> staged[Tile::Shape::kStagedPacks];
  __shared__ Sum shared[Tile::kSharedSums];
  Sum* const values = reinterpret_cast<Sum*>(sums + 1);
  const auto blocks = static_cast<long long>(sums[0]);
  Sum prefix = 0;
#pragma unroll 1
  for (long long first = 0; first < blocks; first += Tile::Shape::kElements) {
    Tile tile;
    const Sum total = tile.load_and_scan(values, first, blocks, true, staged, shared);
    tile.template store<exclusive>(values, prefix, first, blocks, true, staged);
    prefix += total;
    __syncthreads();
  }
}

// Launch 3 of two_pass.
template <typename T, Kind KIND, Step STEP, int BLOCK, int ITEMS, int VEC, int TRANSPOSE, int PAD>
__global__ void __launch_bounds__(BLOCK)
    scan_shares(T* __restrict__ y, const T* __restrict__ x, unsigned long long* __restrict__ sums, unsigned long long*, int, long long n,
              long long) {
  using Tile = tile<T, STEP, BLOCK, ITEMS, VEC, TRANSPOSE, PAD>;
  using Sum = typename Tile::Sum;
  using Shape = typename Tile::Shape;
  extern __shared__ __align__(16) unsigned char shared_memory[];
  __shared__ Sum shared[Tile::kSharedSums];
  auto* const staged = reinterpret_cast<pack<T, VEC>*>(shared_memory);
  const bool x_aligned = is_aligned(x, VEC * sizeof(T));
  const bool y_aligned = is_aligned(y, VEC * sizeof(T));
  const long long share = tiles_per_block(n, Shape::kElements) * Shape::kElements;
  const long long begin = blockIdx.x * share;
  const long long end = begin + share < n ? begin + share : n;
  Sum prefix = reinterpret_cast<const Sum*>(sums + 1)[blockIdx.x];
#pragma unroll 1
  for (long long first = begin; first < end; first += Shape::kElements) {
    Tile tile;
    const Sum total = tile.load_and_scan(x, first, n, x_aligned, staged, shared);
    tile.template store<KIND>(y, prefix, first, n, y_aligned, staged);
    prefix += total;
    __syncthreads();
  }
}

// look_back: a tile for each block. Tiles wait for those before them, so these must have been started: `by_ticket` numbers the blocks as
// they start; `by_block` trusts that blocks start in order, as they do on every GPU so far, though nothing promises it.
template <typename T, Kind KIND, int BLOCK, int ITEMS, int VEC, int TRANSPOSE, int PAD, int BLOCKS_PER_SM, TileOrder ORDER,
          int WINDOW, int WAIT, Clear CLEAR>
__global__ void __launch_bounds__(BLOCK, BLOCKS_PER_SM)
    scan(T* __restrict__ y, const T* __restrict__ x, unsigned long long*, unsigned long long* state, int /*exclusive: the reference's*/,
         long long n, long long) {
  using Tile = tile<T, shuffle, BLOCK, ITEMS, VEC, TRANSPOSE, PAD>;
  using Sum = typename Tile::Sum;
  using Shape = typename Tile::Shape;
  extern __shared__ __align__(16) unsigned char shared_memory[];
  __shared__ Sum shared[Tile::kSharedSums];
  __shared__ Sum values[kLookBackValues];
  __shared__ Sum tile_prefix;
  __shared__ unsigned ticket;
  auto* const staged = reinterpret_cast<pack<T, VEC>*>(shared_memory);

  long long index = blockIdx.x;
  if constexpr (ORDER == by_ticket) {
    if (threadIdx.x == 0) ticket = atomicInc(reinterpret_cast<unsigned*>(state), gridDim.x - 1);  // wraps to 0 for the next launch
    __syncthreads();
    index = ticket;
  }
  const long long first = index * Shape::kElements;
  Tile tile;
  const Sum total = tile.load_and_scan(x, first, n, is_aligned(x, VEC * sizeof(T)), staged, shared);
  const bool leader = threadIdx.x == 0;
  if (threadIdx.x < 32) {
    if (leader) published<Sum>::write(state + kStateHead, index, index == 0 ? kPrefix : kAggregate, total);
    Sum prefix = 0;
    if (index > 0) {
      if constexpr (WAIT > 0) __nanosleep(WAIT);
      prefix = look_back<Sum, WINDOW>(state, index, values);
      if (leader) published<Sum>::write(state + kStateHead, index, kPrefix, prefix + total);
    }
    if (leader) tile_prefix = prefix;
  }
  __syncthreads();
  // Counted before storing, so that the answer is there behind it.
  bool last = false;
  if (CLEAR == last_block && leader) {
    __threadfence();  // what was published arrives before it is cleared
    last = atomicInc(reinterpret_cast<unsigned*>(state + 1), gridDim.x - 1) == gridDim.x - 1;  // wraps to 0 as well
  }
  tile.template store<KIND>(y, tile_prefix, first, n, is_aligned(y, VEC * sizeof(T)), staged);
  if (CLEAR == last_block && threadIdx.x < 32) {
    if (__shfl_sync(0xffffffffu, static_cast<int>(last), 0)) clear_state<Sum>(state, gridDim.x, threadIdx.x, 32);
  }
}

// look_back with STAGES = 2: by blocks that stay, and load the next tile while they look back from one. Tiles are numbered as they are begun,
// so that none waits for one that no block has begun.
template <typename T, Kind KIND, int BLOCK, int ITEMS, int VEC, int PAD, int BLOCKS_PER_SM, int WINDOW, int WAIT, Clear CLEAR>
__global__ void __launch_bounds__(BLOCK, BLOCKS_PER_SM)
    scan_pipelined(T* __restrict__ y, const T* __restrict__ x, unsigned long long*, unsigned long long* state, int, long long n,
                   long long tiles) {
  using Tile = tile<T, shuffle, BLOCK, ITEMS, VEC, 1, PAD>;
  using Sum = typename Tile::Sum;
  using Shape = typename Tile::Shape;
  extern __shared__ __align__(16) unsigned char shared_memory[];
  __shared__ Sum shared[Tile::kSharedSums];
  __shared__ Sum values[kLookBackValues];
  __shared__ Sum tile_prefix;
  __shared__ unsigned ticket;
  __shared__ bool last;
  auto* const staged = reinterpret_cast<pack<T, VEC>*>(shared_memory);
  const bool x_aligned = is_aligned(x, VEC * sizeof(T));
  const bool y_aligned = is_aligned(y, VEC * sizeof(T));
  const bool leader = threadIdx.x == 0;
  auto* const next_ticket = reinterpret_cast<unsigned*>(state);
  // Each block takes one more than it has tiles: then it wraps to 0 for the next launch.
  const auto last_ticket = static_cast<unsigned>(tiles + gridDim.x - 1);

  if (leader) ticket = atomicInc(next_ticket, last_ticket);
  __syncthreads();
  long long index = ticket;
  int stage = 0;
  if (index < tiles) Tile::begin_load(x, index * Shape::kElements, n, x_aligned, staged);
  commit_copies();
#pragma unroll 1
  while (index < tiles) {
    wait_for_copies<0>();
    unsigned taken = 0;
    if (leader) taken = atomicInc(next_ticket, last_ticket);
    Tile tile;
    const Sum total = tile.scan_loaded(staged + stage * Shape::kStagedPacks, shared);
    if (leader) {
      published<Sum>::write(state + kStateHead, index, index == 0 ? kPrefix : kAggregate, total);
      ticket = taken;
    }
    __syncthreads();
    const long long next = ticket;
    if (next < tiles) Tile::begin_load(x, next * Shape::kElements, n, x_aligned, staged + (stage ^ 1) * Shape::kStagedPacks);
    commit_copies();
    if (threadIdx.x < 32) {
      Sum prefix = 0;
      if (index > 0) {
        if constexpr (WAIT > 0) __nanosleep(WAIT);
        prefix = look_back<Sum, WINDOW>(state, index, values);
        if (leader) published<Sum>::write(state + kStateHead, index, kPrefix, prefix + total);
      }
      if (leader) tile_prefix = prefix;
    }
    __syncthreads();
    tile.template store<KIND>(y, tile_prefix, index * Shape::kElements, n, y_aligned, staged + stage * Shape::kStagedPacks);
    index = next;
    stage ^= 1;
  }
  if (CLEAR == last_block) {
    if (leader) {
      __threadfence();  // what was published arrives before it is cleared
      last = atomicInc(reinterpret_cast<unsigned*>(state + 1), gridDim.x - 1) == gridDim.x - 1;  // wraps to 0 as well
    }
    __syncthreads();
    if (last) clear_state<Sum>(state, tiles, threadIdx.x, BLOCK);
  }
}

// The second launch of look_back with CLEAR = second_launch.
template <typename T>
__global__ void scan_clear(T* __restrict__, const T* __restrict__, unsigned long long*, unsigned long long* state, int, long long,
                           long long tiles) {
  clear_state<accumulator_t<T>>(state, tiles, static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x,
                                static_cast<long long>(gridDim.x) * blockDim.x);
}
