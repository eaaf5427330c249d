// value = the sum, the largest, or the first of the largest of x[0 .. n); for argmax index = where it is, else 0. Every n >= 1 is right,
// and so is every alignment of x to its elements.
//
// NaN counts as larger than every number, as in NumPy and PyTorch: max is NaN if an element is, argmax finds the first NaN.
//
// One template holds the textbook ladder: STEP is how a block combines what its threads hold, COMBINE how the grid combines what its
// blocks hold. Each rung is a preset in kernel.json. Except with atomic_add, all sums are taken in an order that only the launch shape
// decides, so that the same call gives the same bits.
#include "element.cuh"
#include "pack.cuh"
#include "published.cuh"

enum Step { shared_atomic, interleaved, strided, sequential, shuffle };
enum Combine { atomic_add, two_launches, last_block, polling };

// The values of the dimension `operation`, which are given to the kernel by name. They are functions because ::max is one already.
enum class Operation { sum, max, argmax };
struct by_name {};
__device__ constexpr Operation sum(by_name) { return Operation::sum; }
__device__ constexpr Operation max(by_name) { return Operation::max; }
__device__ constexpr Operation argmax(by_name) { return Operation::argmax; }
using OperationName = Operation (*)(by_name);

template <typename Value>
struct lowest;
template <>
struct lowest<float> {
  static __device__ __forceinline__ float value() { return -__int_as_float(0x7f800000); }
};
template <>
struct lowest<double> {
  static __device__ __forceinline__ double value() { return -__longlong_as_double(0x7ff0000000000000LL); }
};
template <>
struct lowest<int> {
  static __device__ __forceinline__ int value() { return -2147483647 - 1; }
};

// Of each operation: what a thread holds (item), how it takes in an element, how two items become one, how an item moves between
// lanes and through global memory (partials, as many as blocks).
template <typename Value, Operation>
struct reduction;

template <typename Value>
struct reduction<Value, Operation::sum> {
  using item = Value;
  static __device__ __forceinline__ item identity() { return 0; }
  static __device__ __forceinline__ void take(item& to, Value x, long long) { to += x; }
  static __device__ __forceinline__ item combine(item a, item b) { return a + b; }
  static __device__ __forceinline__ Value value(item a) { return a; }
  static __device__ __forceinline__ long long index(item) { return 0; }
  static __device__ __forceinline__ item from_below(item a, int lanes) { return __shfl_down_sync(0xffffffffu, a, lanes); }
  static __device__ __forceinline__ void store(item a, Value* values, long long*, unsigned at) { values[at] = a; }
  static __device__ __forceinline__ item load(const Value* values, const long long*, unsigned at) { return __ldcg(values + at); }
};

template <typename Value>
struct reduction<Value, Operation::max> {
  using item = Value;
  static __device__ __forceinline__ item identity() { return lowest<Value>::value(); }
  static __device__ __forceinline__ void take(item& to, Value x, long long) { to = combine(to, x); }
  static __device__ __forceinline__ item combine(item a, item b) { return b > a || b != b ? b : a; }
  static __device__ __forceinline__ Value value(item a) { return a; }
  static __device__ __forceinline__ long long index(item) { return 0; }
  static __device__ __forceinline__ item from_below(item a, int lanes) { return __shfl_down_sync(0xffffffffu, a, lanes); }
  static __device__ __forceinline__ void store(item a, Value* values, long long*, unsigned at) { values[at] = a; }
  static __device__ __forceinline__ item load(const Value* values, const long long*, unsigned at) { return __ldcg(values + at); }
};

template <typename Value>
struct reduction<Value, Operation::argmax> {
  struct item {
    Value value;
    long long index;
  };
  static constexpr long long kNowhere = 0x7fffffffffffffffLL;
  static __device__ __forceinline__ item identity() { return {lowest<Value>::value(), kNowhere}; }
  // A thread meets its elements in ascending order, so the first of equals stays.
  static __device__ __forceinline__ void take(item& to, Value x, long long index) {
    const bool better = x > to.value || (x != x && to.value == to.value);
    to.value = better ? x : to.value;
    to.index = better ? index : to.index;
  }
  static __device__ __forceinline__ item combine(item a, item b) {
    const bool a_nan = a.value != a.value;
    const bool b_nan = b.value != b.value;
    const bool equal = a.value == b.value || (a_nan && b_nan);
    const bool take_b = equal ? b.index < a.index : b_nan || (!a_nan && b.value > a.value);
    return take_b ? b : a;
  }
  static __device__ __forceinline__ Value value(item a) { return a.value; }
  // Nobody found anything above the identity: then all elements are equal to it, and the first of them is meant.
  static __device__ __forceinline__ long long index(item a) { return a.index == kNowhere ? 0 : a.index; }
  static __device__ __forceinline__ item from_below(item a, int lanes) {
    return {__shfl_down_sync(0xffffffffu, a.value, lanes), __shfl_down_sync(0xffffffffu, a.index, lanes)};
  }
  static __device__ __forceinline__ void store(item a, Value* values, long long* indices, unsigned at) {
    values[at] = a.value;
    indices[at] = a.index;
  }
  static __device__ __forceinline__ item load(const Value* values, const long long* indices, unsigned at) {
    return {__ldcg(values + at), __ldcg(indices + at)};
  }
};

// Thread 0 gets what all threads hold, combined. Afterwards `shared` (an item per thread, with `shuffle` per warp) may be used again
// only behind a barrier.
template <typename R, Step STEP, int BLOCK>
__device__ __forceinline__ typename R::item combine_block(typename R::item item, typename R::item* shared) {
  const int thread = threadIdx.x;
  if constexpr (STEP == shuffle) {
    constexpr int kWarps = BLOCK / 32;
#pragma unroll
    for (int lanes = 16; lanes > 0; lanes /= 2) item = R::combine(item, R::from_below(item, lanes));
    if (thread % 32 == 0) shared[thread / 32] = item;
    __syncthreads();
    if (thread < 32) {
      item = thread < kWarps ? shared[thread] : R::identity();
#pragma unroll
      for (int lanes = kWarps / 2; lanes > 0; lanes /= 2) item = R::combine(item, R::from_below(item, lanes));
    }
    return item;
  } else if constexpr (STEP == shared_atomic) {
    if (thread == 0) shared[0] = R::identity();
    __syncthreads();
    atomicAdd(shared, item);
    __syncthreads();
    return shared[0];
  } else {
    shared[thread] = item;
    __syncthreads();
    if constexpr (STEP == sequential) {
      for (int distance = BLOCK / 2; distance > 0; distance /= 2) {
        if (thread < distance) shared[thread] = R::combine(shared[thread], shared[thread + distance]);
        __syncthreads();
      }
    } else {
      for (int distance = 1; distance < BLOCK; distance *= 2) {
        // strided: the first threads are busy, at ever wider strides; interleaved: ever fewer threads of each warp.
        const int at = STEP == strided ? 2 * distance * thread : thread % (2 * distance) == 0 ? thread : BLOCK;
        if (at < BLOCK) shared[at] = R::combine(shared[at], shared[at + distance]);
        __syncthreads();
      }
    }
    return shared[0];
  }
}

template <typename T, typename R, typename Item>
__device__ __forceinline__ void write_result(T* value, long long* index, Item item) {
  narrow(R::value(item), *value);
  *index = R::index(item);
}

// What a thread of the grid finds in its share of x: tiles of BLOCK * ITEMS packs go around the blocks. Independent items for the
// elements of a pack keep the additions from waiting for each other.
template <typename T, typename R, int BLOCK, int ITEMS, int VEC>
__device__ __forceinline__ typename R::item combine_share(const T* __restrict__ x, long long n) {
  constexpr int kTile = BLOCK * ITEMS;  // packs
  const int thread = threadIdx.x;
  typename R::item found[VEC];
#pragma unroll
  for (int v = 0; v < VEC; ++v) found[v] = R::identity();

  // Elements before the first aligned pack.
  long long head = 0;
  if constexpr (VEC > 1) {
    const auto address = reinterpret_cast<unsigned long long>(x);
    head = static_cast<long long>((0 - address) % (VEC * sizeof(T)) / sizeof(T));
    if (head > n) head = n;
  }
  const long long packs = (n - head) / VEC;
  const T* const body = x + head;
  pack<T, VEC> held[ITEMS];

  auto take = [&](const pack<T, VEC>& elements, long long at) {
#pragma unroll
    for (int v = 0; v < VEC; ++v) R::take(found[v], widen(elements.element[v]), at + v);
  };
  long long tile = static_cast<long long>(blockIdx.x) * kTile;
#pragma unroll 1
  for (; tile + kTile <= packs; tile += static_cast<long long>(gridDim.x) * kTile) {
    const T* const from = body + (tile + thread) * VEC;
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) held[i] = load_pack<VEC>(from + i * (BLOCK * VEC));
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) take(held[i], head + (tile + thread + i * BLOCK) * VEC);
  }
  if (tile < packs) {  // the last tile
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
      const long long at = tile + thread + i * BLOCK;
      if (at < packs) held[i] = load_pack<VEC>(body + at * VEC);
    }
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
      const long long at = tile + thread + i * BLOCK;
      if (at < packs) take(held[i], head + at * VEC);
    }
  }
  typename R::item item = found[0];
#pragma unroll
  for (int v = 1; v < VEC; ++v) item = R::combine(item, found[v]);

  if constexpr (VEC > 1) {
    // Fewer than VEC elements in front and fewer than VEC behind; a block has more threads than that.
    if (blockIdx.x == 0) {
      const long long tail = head + packs * VEC;
      const long long at = thread < head ? thread : tail + (thread - head);
      if (at < n) {
        typename R::item single = R::identity();
        R::take(single, widen(x[at]), at);
        item = R::combine(item, single);
      }
    }
  }
  return item;
}

// partials: word 0 the number of blocks, then a value for each block in a word, then an index for each.
// state: zero between launches. Word 0 how many blocks are done, word 1 what atomic_add adds to, then what `polling` publishes.
template <typename T, OperationName OPERATION, Step STEP, Combine COMBINE, int BLOCK, int ITEMS, int VEC>
__global__ void __launch_bounds__(BLOCK)
    reduce(T* __restrict__ value, long long* __restrict__ index, const T* __restrict__ x, unsigned long long* partials,
           unsigned long long* state, int /*operation: the reference's*/, long long n) {
  static_assert(BLOCK % 32 == 0 && BLOCK >= 2 * VEC && (BLOCK & (BLOCK - 1)) == 0, "whole warps, a power of two");
  using Value = accumulator_t<T>;
  using R = reduction<Value, OPERATION(by_name{})>;
  __shared__ typename R::item shared[STEP == shuffle ? 32 : BLOCK];
  __shared__ bool last;

  const auto share = combine_share<T, R, BLOCK, ITEMS, VEC>(x, n);
  const auto mine = combine_block<R, STEP, BLOCK>(share, shared);
  const unsigned blocks = gridDim.x;
  if constexpr (COMBINE != two_launches) {
    if (blocks == 1) {
      if (threadIdx.x == 0) write_result<T, R>(value, index, mine);
      return;
    }
  }

  Value* const values = reinterpret_cast<Value*>(partials + 1);
  long long* const indices = reinterpret_cast<long long*>(partials + 1 + blocks);
  unsigned* const done = reinterpret_cast<unsigned*>(state);
  if constexpr (COMBINE == two_launches) {
    if (threadIdx.x == 0) {
      R::store(mine, values, indices, blockIdx.x);
      if (blockIdx.x == 0) partials[0] = blocks;
    }
  } else if constexpr (COMBINE == atomic_add) {
    static_assert(OPERATION(by_name{}) == Operation::sum, "only sums are added");
    Value* const total = reinterpret_cast<Value*>(state + 1);
    if (threadIdx.x == 0) {
      atomicAdd(total, mine);
      __threadfence();
      if (atomicInc(done, blocks - 1) == blocks - 1) {  // wraps to 0 for the next launch
        __threadfence();
        write_result<T, R>(value, index, *static_cast<volatile Value*>(total));
        *total = 0;
      }
    }
  } else if constexpr (COMBINE == polling) {
    // The last block waits for the others. Blocks start in order, so that all of them are running by then; and one that waits is in
    // nobody's way while another one finds a place.
    using Published = published<typename R::item>;
    unsigned long long* const published_items = state + 2;
    if (blockIdx.x < blocks - 1) {
      if (threadIdx.x == 0) Published::write(published_items, blockIdx.x, 1, mine);
      return;
    }
    auto item = threadIdx.x == 0 ? mine : R::identity();
    for (unsigned block = threadIdx.x; block < blocks - 1; block += BLOCK) {
      item = R::combine(item, Published::wait(published_items, block, 0));
      Published::clear(published_items, block);
    }
    __syncthreads();
    item = combine_block<R, STEP, BLOCK>(item, shared);
    if (threadIdx.x == 0) write_result<T, R>(value, index, item);
  } else {
    if (threadIdx.x == 0) {
      R::store(mine, values, indices, blockIdx.x);
      __threadfence();
      last = atomicInc(done, blocks - 1) == blocks - 1;
    }
    __syncthreads();
    if (!last) return;
    __threadfence();
    auto item = R::identity();
    for (unsigned block = threadIdx.x; block < blocks; block += BLOCK) item = R::combine(item, R::load(values, indices, block));
    item = combine_block<R, STEP, BLOCK>(item, shared);
    if (threadIdx.x == 0) write_result<T, R>(value, index, item);
  }
}

// The second launch of two_launches: one block.
template <typename T, OperationName OPERATION, Step STEP, int BLOCK>
__global__ void __launch_bounds__(BLOCK)
    reduce_partials(T* __restrict__ value, long long* __restrict__ index, const T* __restrict__, unsigned long long* partials,
                    unsigned long long*, int, long long) {
  using Value = accumulator_t<T>;
  using R = reduction<Value, OPERATION(by_name{})>;
  __shared__ typename R::item shared[STEP == shuffle ? 32 : BLOCK];
  const auto blocks = static_cast<unsigned>(partials[0]);
  const Value* const values = reinterpret_cast<const Value*>(partials + 1);
  const long long* const indices = reinterpret_cast<const long long*>(partials + 1 + blocks);
  auto item = R::identity();
  for (unsigned block = threadIdx.x; block < blocks; block += BLOCK) item = R::combine(item, R::load(values, indices, block));
  item = combine_block<R, STEP, BLOCK>(item, shared);
  if (threadIdx.x == 0) write_result<T, R>(value, index, item);
}
