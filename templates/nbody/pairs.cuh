// Each pair of bodies once: what one does to the other it suffers itself, so the difference, the distance and the root serve both, and two
// interactions take 17 instructions instead of 26.
//
// Bodies come in tiles of BLOCK * BODIES. A block takes a pair of tiles: the bodies of the first lie in registers, those of the second in
// shared memory with their sums. Of these a warp takes 32 at a time, one per lane, and passes them round its lanes until each has met the
// bodies of all lanes. At any time the warps are at different ones, and barriers keep the order, so that the sums are always the same. A
// block writes the sums of both tiles to `work`, which has for each body a place for each tile that it meets; nbody_add adds them.
#pragma once

#include "attract.cuh"

// What the bodies of a pair do to each other.
template <typename Sum>
__device__ __forceinline__ void attract_both(vector3<Sum>& acceleration, const pack<Sum, 4>& at, vector3<Sum>& other, const pack<Sum, 4>& body,
                                             Sum softening2) {
  const Sum dx = body.element[0] - at.element[0];
  const Sum dy = body.element[1] - at.element[1];
  const Sum dz = body.element[2] - at.element[2];
  const Sum inverse = inverse_sqrt(dx * dx + (dy * dy + (dz * dz + softening2)));
  const Sum cube = inverse * (inverse * inverse);
  const Sum factor = body.element[3] * cube;
  acceleration.x += dx * factor;
  acceleration.y += dy * factor;
  acceleration.z += dz * factor;
  const Sum back = at.element[3] * cube;
  other.x -= dx * back;
  other.y -= dy * back;
  other.z -= dz * back;
}

template <typename T, int BLOCK, int BODIES, int UNROLL>
__device__ __forceinline__ void meet_tiles(const T* __restrict__ bodies, accumulator_t<T>* work, long long n, accumulator_t<T> softening2) {
  using Sum = accumulator_t<T>;
  constexpr int kTile = BLOCK * BODIES;
  constexpr int kGroups = kTile / 32;

  // Blocks 0, 1 and 2, 3 to 5, ...: the second tile with the first ones up to itself.
  const long long block = blockIdx.x;
  long long second = static_cast<long long>((sqrtf(8 * static_cast<float>(block) + 1) - 1) / 2);  // to 1
  while (second * (second + 1) / 2 > block) --second;
  while ((second + 1) * (second + 2) / 2 <= block) ++second;
  const long long first = block - second * (second + 1) / 2;

  extern __shared__ __align__(16) unsigned char shared_memory[];
  pack<Sum, 4>* const tile = reinterpret_cast<pack<Sum, 4>*>(shared_memory);
  Sum* const tile_sums = reinterpret_cast<Sum*>(tile + kTile);  // x of all, y of all, z of all

  pack<Sum, 4> at[BODIES];
  vector3<Sum> sum[BODIES] = {};
#pragma unroll
  for (int b = 0; b < BODIES; ++b) {
    const int index = b * BLOCK + threadIdx.x;
    at[b] = load_body(bodies, first * kTile + index, n);
    tile[index] = load_body(bodies, second * kTile + index, n);
#pragma unroll
    for (int c = 0; c < 3; ++c) tile_sums[c * kTile + index] = 0;
  }
  __syncthreads();

  if (first == second) {  // each body meets all others of its tile by itself
#pragma unroll UNROLL
    for (int j = 0; j < kTile; ++j) {
      const auto body = tile[j];
#pragma unroll
      for (int b = 0; b < BODIES; ++b) {
        attract(sum[b], vector3<Sum>{at[b].element[0], at[b].element[1], at[b].element[2]}, body, softening2);
      }
    }
  } else {
    const int lane = threadIdx.x % 32;
    const int next = (lane + 1) % 32;
    int group = static_cast<int>(threadIdx.x) / 32 * BODIES;
#pragma unroll 1
    for (int turn = 0; turn < kGroups; ++turn) {
      const int index = group * 32 + lane;
      auto body = tile[index];
      vector3<Sum> other = {tile_sums[index], tile_sums[kTile + index], tile_sums[2 * kTile + index]};
#pragma unroll UNROLL
      for (int step = 0; step < 32; ++step) {
#pragma unroll
        for (int b = 0; b < BODIES; ++b) attract_both(sum[b], at[b], other, body, softening2);
#pragma unroll
        for (int c = 0; c < 4; ++c) body.element[c] = __shfl_sync(0xffffffffu, body.element[c], next);
        other.x = __shfl_sync(0xffffffffu, other.x, next);
        other.y = __shfl_sync(0xffffffffu, other.y, next);
        other.z = __shfl_sync(0xffffffffu, other.z, next);
      }
      tile_sums[index] = other.x;
      tile_sums[kTile + index] = other.y;
      tile_sums[2 * kTile + index] = other.z;
      group = group + 1 == kGroups ? 0 : group + 1;
      __syncthreads();  // the group is free for the warp that takes it next
    }
  }

#pragma unroll
  for (int b = 0; b < BODIES; ++b) {
    const int index = b * BLOCK + threadIdx.x;
    if (first * kTile + index < n) {
      Sum* const into = work + 3 * (second * n + first * kTile + index);
      into[0] = sum[b].x;
      into[1] = sum[b].y;
      into[2] = sum[b].z;
    }
    if (first != second && second * kTile + index < n) {
      Sum* const into = work + 3 * (first * n + second * kTile + index);
#pragma unroll
      for (int c = 0; c < 3; ++c) into[c] = tile_sums[c * kTile + index];
    }
  }
}
