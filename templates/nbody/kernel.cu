// All-pairs gravity: the acceleration of each of n bodies, sum over j of mass_j * (r_j - r_i) / (|r_j - r_i|^2 + softening^2)^(3/2), with
// the gravitational constant 1. A body is x, y, z, mass; an acceleration x, y, z. Every n >= 1 is right; softening > 0.
//
// Each thread sums up BODIES accelerations, so that a body that was read once serves as many interactions. The sum over j is cut into
// SPLIT slices, done by different warps of the block and added at the end in a fixed order: few bodies then still fill the GPU.
// PARTS > 1 also cuts it over that many blocks, which leave their sums in `work`; nbody_add adds them, again in a fixed order.
// STAGING = 1 passes the bodies through shared memory, one per thread at a time. STAGING = 2, in pairs.cuh, takes each pair of bodies once.
#include "attract.cuh"
#include "element.cuh"
#include "pack.cuh"
#include "pairs.cuh"

template <typename T, int STAGING, int BLOCK, int BODIES, int SPLIT, int UNROLL, int PREFETCH, int PARTS>
__global__ void __launch_bounds__(BLOCK) nbody(T* __restrict__ accelerations, const T* __restrict__ bodies,
                                               double* work, long long n, T softening) {
  using Sum = accumulator_t<T>;
  if constexpr (STAGING == 2) {
    meet_tiles<T, BLOCK, BODIES, UNROLL>(bodies, reinterpret_cast<Sum*>(work), n, widen(softening) * widen(softening));
    return;
  }
  constexpr int kMembers = BLOCK / SPLIT;  // threads of a slice
  static_assert(BLOCK % SPLIT == 0 && kMembers % 32 == 0, "a slice has whole warps");
  static_assert(kMembers % UNROLL == 0, "UNROLL divides a slice's part of a tile");
  const int member = threadIdx.x % kMembers;
  const int slice = threadIdx.x / kMembers;
  const long long first = static_cast<long long>(blockIdx.x / PARTS) * (kMembers * BODIES) + member;
  // The block's part of the sum, in whole tiles.
  const long long tiles = (n + BLOCK - 1) / BLOCK;
  const int part = static_cast<int>(blockIdx.x % PARTS);
  const long long from = tiles * part / PARTS * BLOCK;
  const long long to = part == PARTS - 1 ? n : tiles * (part + 1) / PARTS * BLOCK;
  const Sum softening2 = widen(softening) * widen(softening);

  auto load = [&](long long index) { return load_body(bodies, index, n); };

  vector3<Sum> at[BODIES];
  vector3<Sum> sum[BODIES] = {};
#pragma unroll
  for (int b = 0; b < BODIES; ++b) {
    const auto body = load(first + b * kMembers);
    at[b] = {body.element[0], body.element[1], body.element[2]};
  }

  extern __shared__ __align__(16) unsigned char shared_memory[];
  if constexpr (STAGING == 0) {
#pragma unroll UNROLL
    for (long long j = from + slice; j < to; j += SPLIT) {
      const auto body = load(j);
#pragma unroll
      for (int b = 0; b < BODIES; ++b) attract(sum[b], at[b], body, softening2);
    }
  } else {
    pack<Sum, 4>* const tile = reinterpret_cast<pack<Sum, 4>*>(shared_memory);
    const pack<Sum, 4>* const mine = tile + slice * kMembers;
    pack<Sum, 4> staged{};
    if constexpr (PREFETCH) staged = load(from + threadIdx.x);
#pragma unroll 1
    for (long long j0 = from; j0 < to; j0 += BLOCK) {
      if constexpr (!PREFETCH) staged = load(j0 + threadIdx.x);
      if (j0 > from) __syncthreads();  // everyone is done with the last tile
      tile[threadIdx.x] = staged;
      __syncthreads();
      if constexpr (PREFETCH) staged = load(j0 + BLOCK + threadIdx.x);  // on its way while this tile is worked on
#pragma unroll UNROLL
      for (int j = 0; j < kMembers; ++j) {
        const auto body = mine[j];
#pragma unroll
        for (int b = 0; b < BODIES; ++b) attract(sum[b], at[b], body, softening2);
      }
    }
  }

  if constexpr (SPLIT > 1) {
    Sum* const partial = reinterpret_cast<Sum*>(shared_memory);
    constexpr int kSums = 3 * BODIES;
    __syncthreads();  // everyone is done with the last tile
    if (slice > 0) {
#pragma unroll
      for (int b = 0; b < BODIES; ++b) {
        Sum* const into = partial + ((slice - 1) * kSums + 3 * b) * kMembers + member;
        into[0] = sum[b].x;
        into[kMembers] = sum[b].y;
        into[2 * kMembers] = sum[b].z;
      }
    }
    __syncthreads();
    if (slice > 0) return;
#pragma unroll
    for (int s = 0; s < SPLIT - 1; ++s) {
#pragma unroll
      for (int b = 0; b < BODIES; ++b) {
        const Sum* const added = partial + (s * kSums + 3 * b) * kMembers + member;
        sum[b].x += added[0];
        sum[b].y += added[kMembers];
        sum[b].z += added[2 * kMembers];
      }
    }
  }
#pragma unroll
  for (int b = 0; b < BODIES; ++b) {
    const long long index = first + b * kMembers;
    if (index >= n) break;
    if constexpr (PARTS == 1) {
      narrow(sum[b].x, accelerations[3 * index]);
      narrow(sum[b].y, accelerations[3 * index + 1]);
      narrow(sum[b].z, accelerations[3 * index + 2]);
    } else {
      Sum* const into = reinterpret_cast<Sum*>(work) + 3 * (part * n + index);
      into[0] = sum[b].x;
      into[1] = sum[b].y;
      into[2] = sum[b].z;
    }
  }
}

// One coordinate per thread: the sums of all parts, or with STAGING 2 of all tiles.
template <typename T, int STAGING, int BLOCK, int BODIES, int PARTS>
__global__ void __launch_bounds__(256) nbody_add(T* __restrict__ accelerations, const T* __restrict__, double* work, long long n, T) {
  const long long index = static_cast<long long>(blockIdx.x) * 256 + threadIdx.x;
  if (index >= 3 * n) return;
  const accumulator_t<T>* const sums = reinterpret_cast<const accumulator_t<T>*>(work);
  const int count = STAGING == 2 ? static_cast<int>((n + BLOCK * BODIES - 1) / (BLOCK * BODIES)) : PARTS;
  accumulator_t<T> sum = 0;
#pragma unroll 8
  for (int p = 0; p < count; ++p) sum += sums[3 * p * n + index];
  narrow(sum, accelerations[index]);
}
