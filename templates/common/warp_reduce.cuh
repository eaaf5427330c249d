// Reductions over the lanes of a warp and over groups of threads of a block, with any associative, commutative functor.
#pragma once

struct plus {
  template <typename T>
  __device__ __forceinline__ T operator()(T x, T y) const {
    return x + y;
  }
};
// As fmaxf and fminf do, these pass over NaN: of a number and NaN they give the number.
struct maximum {
  template <typename T>
  __device__ __forceinline__ T operator()(T x, T y) const {
    return max(x, y);
  }
};
struct minimum {
  template <typename T>
  __device__ __forceinline__ T operator()(T x, T y) const {
    return min(x, y);
  }
};

constexpr unsigned kFullWarp = 0xffffffffu;

// Shuffles move 4-byte registers, so a value of any trivially copyable type (a pair of value and index, say) goes word by word.
template <typename T, typename MoveWord>
__device__ __forceinline__ T shuffle_words(T value, MoveWord move_word) {
  constexpr int kWords = (sizeof(T) + 3) / 4;
  unsigned words[kWords] = {};
  memcpy(words, &value, sizeof(T));
#pragma unroll
  for (int i = 0; i < kWords; ++i) words[i] = move_word(words[i]);
  memcpy(&value, words, sizeof(T));
  return value;
}

// As __shfl_*_sync with the full warp, for any trivially copyable T. Every lane of the warp must call them together.
template <typename T>
__device__ __forceinline__ T shuffle_xor(T value, int lane_mask) {
  return shuffle_words(value, [=](unsigned word) { return __shfl_xor_sync(kFullWarp, word, lane_mask); });
}
template <typename T>
__device__ __forceinline__ T shuffle_up(T value, int delta, int width = 32) {
  return shuffle_words(value, [=](unsigned word) { return __shfl_up_sync(kFullWarp, word, delta, width); });
}
template <typename T>
__device__ __forceinline__ T shuffle_down(T value, int delta, int width = 32) {
  return shuffle_words(value, [=](unsigned word) { return __shfl_down_sync(kFullWarp, word, delta, width); });
}
template <typename T>
__device__ __forceinline__ T shuffle_from(T value, int lane, int width = 32) {
  return shuffle_words(value, [=](unsigned word) { return __shfl_sync(kFullWarp, word, lane, width); });
}

// Reduces over each LANES neighbouring lanes; every lane gets the result, the same to the last bit as both partners of a step
// combine the same two values.
template <int LANES = 32, typename T, typename Op>
__device__ __forceinline__ T warp_reduce(T value, Op op) {
  static_assert(LANES >= 1 && LANES <= 32 && (LANES & (LANES - 1)) == 0, "a power of two up to 32");
#pragma unroll
  for (int offset = 1; offset < LANES; offset *= 2) {
    value = op(value, shuffle_xor(value, offset));
  }
  return value;
}

// Reduces over each THREADS neighbouring threads of a one-dimensional block; every thread gets the result. More than a warp: all
// threads of the block must call it together; `partial` is shared memory, one T per warp of the block, and may be written again
// after another barrier.
template <int THREADS, typename T, typename Op>
__device__ __forceinline__ T group_reduce(T value, Op op, T* partial) {
  static_assert(THREADS >= 1 && THREADS <= 1024 && (THREADS & (THREADS - 1)) == 0, "a power of two up to 1024");
  if constexpr (THREADS <= 32) {
    return warp_reduce<THREADS>(value, op);
  } else {
    constexpr int kWarps = THREADS / 32;
    const int warp = threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    value = warp_reduce(value, op);
    if (lane == 0) partial[warp] = value;
    __syncthreads();
    return warp_reduce<kWarps>(partial[warp / kWarps * kWarps + lane % kWarps], op);
  }
}
