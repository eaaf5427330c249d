// Decoupled look-back (Merrill and Garland, Single-pass Parallel Prefix Scan with Decoupled Look-back, 2016): a tile publishes what it
// adds up to, then looks back at the tiles before it for the nearest whose prefix is known, adding up what lies between, and publishes
// its own prefix.
//
// Run to run the results are the same to the bit, floats too: the prefix of a tile is always that of the tile before plus what it adds
// up to itself, from the first tile on one after the other, no matter at which of them a look back finds a prefix.
#pragma once

#include "published.cuh"

// Words before those of the first tile: 0 the next tile, 1 how many are done; a cache line of their own.
constexpr int kStateHead = 16;
constexpr unsigned kAggregate = 1;
constexpr unsigned kPrefix = 2;

// Thread `thread` of `threads` makes its part of the tiles' words zero again.
template <typename Sum>
__device__ __forceinline__ void clear_state(unsigned long long* state, long long tiles, long long thread, long long threads) {
  const long long words = tiles * published<Sum>::kWords;
  for (long long i = thread; 2 * i < words; i += threads) {
    // The last pair may take in the word behind the last tile's, which is there and zero.
    *reinterpret_cast<ulonglong2*>(state + kStateHead + 2 * i) = ulonglong2{0, 0};
  }
}

// Values of the tiles looked back at, the nearest last; more are not kept, then the look back waits for a prefix among them.
constexpr int kLookBackValues = 512;

// For one warp: what lies before `tile`; every lane gets it. WINDOW * 32 tiles are looked at together.
template <typename Sum, int WINDOW>
__device__ __forceinline__ Sum look_back(const unsigned long long* state, long long tile, Sum* values) {
  static_assert(2 * 32 * WINDOW <= kLookBackValues, "room for a window behind another one");
  const int lane = threadIdx.x % 32;
  int first = kLookBackValues;  // values[first ..] are those of the tiles from `end` on
  long long end = tile;
  for (;;) {
    published<Sum> seen[WINDOW];  // [0] is the nearest 32
    int groups = 0;               // of them, to be kept
    int prefix_lane = -1;         // in the last of these groups
    for (;;) {
      bool complete = true;
#pragma unroll
      for (int i = 0; i < WINDOW; ++i) {
        const long long at = end - 32 * (i + 1) + lane;
        seen[i] = at >= 0 ? published<Sum>::read(state + kStateHead, at) : published<Sum>{kPrefix, Sum(0)};
      }
      groups = 0;
      prefix_lane = -1;
#pragma unroll
      for (int i = 0; i < WINDOW; ++i) {
        const unsigned prefixes = __ballot_sync(0xffffffffu, seen[i].tag == kPrefix);
        const unsigned valid = prefixes | __ballot_sync(0xffffffffu, seen[i].tag == kAggregate);
        if (prefix_lane < 0) {
          ++groups;
          if (prefixes != 0) prefix_lane = 31 - __clz(static_cast<int>(prefixes));
          const unsigned needed = 0xffffffffu << (prefix_lane < 0 ? 0 : prefix_lane);
          complete = complete && (valid & needed) == needed;
        }
      }
      if (complete && (prefix_lane >= 0 || first >= 2 * 32 * WINDOW)) break;
      __nanosleep(0);  // on the cpu device: lets others run
    }
#pragma unroll
    for (int i = 0; i < WINDOW; ++i) {
      // Zeros before the prefix, so that whole groups are added up.
      if (i < groups) values[first - 32 * (i + 1) + lane] = i < groups - 1 || lane >= prefix_lane ? seen[i].value : Sum(0);
    }
    first -= 32 * groups;
    end -= 32 * groups;
    if (prefix_lane >= 0) break;
  }
  __syncwarp();
  Sum sum = 0;
#pragma unroll 1
  for (; first < kLookBackValues; first += 32) {
#pragma unroll
    for (int i = 0; i < 32; ++i) sum += values[first + i];
  }
  return sum;
}
