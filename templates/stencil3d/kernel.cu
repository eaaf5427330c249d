// One step of the 7-point stencil on a d x h x w grid, row-major: each inner cell becomes center * cell + side * (its six neighbours).
// Cells at the edge keep their value. Every d, h, w >= 1 is right.
//
// METHOD 0 is one cell per thread. Otherwise a thread walks through DEPTH planes with VEC neighbouring columns and keeps the cells of the
// last, this and the next plane in registers, so that each cell comes from global memory once. The neighbours in this plane come
// 1: from the cache, 2: from shared memory, where the block puts its part of this plane with its halo.
#include "element.cuh"
#include "pack.cuh"

template <typename Sum>
__device__ __forceinline__ Sum update(Sum center, Sum side, Sum cell, Sum north, Sum south, Sum west, Sum east, Sum up, Sum down) {
  return center * cell + side * (((north + south) + (west + east)) + (up + down));
}

template <typename T, int VEC>
__device__ __forceinline__ pack<accumulator_t<T>, VEC> load_wide(const T* p) {
  const auto read = load_pack<VEC>(p);
  pack<accumulator_t<T>, VEC> wide;
#pragma unroll
  for (int v = 0; v < VEC; ++v) wide.element[v] = widen(read.element[v]);
  return wide;
}

template <typename T, int METHOD, int BX, int BY, int VEC, int DEPTH>
__global__ void __launch_bounds__(BX* BY)
    stencil3d(T* __restrict__ out, const T* __restrict__ in, long long d, long long h, long long w, T center_weight, T side_weight) {
  using Sum = accumulator_t<T>;
  const Sum center = widen(center_weight);
  const Sum side = widen(side_weight);
  const int thread_x = threadIdx.x % BX;
  const int thread_y = threadIdx.x / BX;
  const unsigned blocks_x = static_cast<unsigned>((w + BX * VEC - 1) / (BX * VEC));
  const unsigned blocks_y = static_cast<unsigned>((h + BY - 1) / BY);
  const long long x0 = static_cast<long long>(blockIdx.x % blocks_x) * (BX * VEC);
  const long long y0 = static_cast<long long>(blockIdx.x / blocks_x % blocks_y) * BY;
  const long long z0 = static_cast<long long>(blockIdx.x / blocks_x / blocks_y) * DEPTH;
  const long long x = x0 + thread_x * VEC;
  const long long y = y0 + thread_y;
  const long long plane = h * w;
  const bool inside = x < w && y < h;  // w and x are multiples of VEC: a pack lies inside or outside as a whole
  const long long at = inside ? y * w + x : 0;

  if constexpr (METHOD == 0) {
    static_assert(VEC == 1 && DEPTH == 1, "one cell per thread");
    if (!inside) return;
    const T* const cell = in + z0 * plane + at;
    Sum made = widen(*cell);
    if (x > 0 && x < w - 1 && y > 0 && y < h - 1 && z0 > 0 && z0 < d - 1) {
      made = update(center, side, made, widen(cell[-w]), widen(cell[w]), widen(cell[-1]), widen(cell[1]), widen(cell[-plane]),
                    widen(cell[plane]));
    }
    narrow(made, out[z0 * plane + at]);
  } else {
    const long long z_end = z0 + DEPTH < d ? z0 + DEPTH : d;
    const bool inner_row = inside && y > 0 && y < h - 1;
    const T* cell = in + z0 * plane + at;
    T* to = out + z0 * plane + at;

    pack<Sum, VEC> last{}, now{};
    if (inside && z0 > 0) last = load_wide<T, VEC>(cell - plane);
    if (inside) now = load_wide<T, VEC>(cell);

    constexpr int kPitch = BX * VEC + 2;
    extern __shared__ __align__(16) unsigned char shared_memory[];
    Sum* const tile = reinterpret_cast<Sum*>(shared_memory) + (thread_y + 1) * kPitch + thread_x * VEC + 1;

#pragma unroll 2
    for (long long z = z0; z < z_end; ++z) {
      const bool inner = inner_row && z > 0 && z < d - 1;
      pack<Sum, VEC> next{}, north{}, south{};
      Sum west = 0;
      Sum east = 0;
      if (inside && z + 1 < d) next = load_wide<T, VEC>(cell + plane);
      if constexpr (METHOD == 1) {
        if (inner) {
          north = load_wide<T, VEC>(cell - w);
          south = load_wide<T, VEC>(cell + w);
          if (x > 0) west = widen(cell[-1]);
          if (x + VEC < w) east = widen(cell[VEC]);
        }
      } else {
        if (z > z0) __syncthreads();  // everyone is done with the last plane
#pragma unroll
        for (int v = 0; v < VEC; ++v) tile[v] = now.element[v];
        if (inner) {
          if (thread_y == 0) {
            const auto read = load_wide<T, VEC>(cell - w);
#pragma unroll
            for (int v = 0; v < VEC; ++v) tile[v - kPitch] = read.element[v];
          }
          if (thread_y == BY - 1) {
            const auto read = load_wide<T, VEC>(cell + w);
#pragma unroll
            for (int v = 0; v < VEC; ++v) tile[v + kPitch] = read.element[v];
          }
          if (thread_x == 0 && x > 0) tile[-1] = widen(cell[-1]);
          if (thread_x == BX - 1 && x + VEC < w) tile[VEC] = widen(cell[VEC]);
        }
        __syncthreads();
        if (inner) {
#pragma unroll
          for (int v = 0; v < VEC; ++v) {
            north.element[v] = tile[v - kPitch];
            south.element[v] = tile[v + kPitch];
          }
          if (x > 0) west = tile[-1];
          if (x + VEC < w) east = tile[VEC];
        }
      }
      if (inside) {
        pack<T, VEC> written;
#pragma unroll
        for (int v = 0; v < VEC; ++v) {
          Sum made = now.element[v];
          if (inner && x + v > 0 && x + v < w - 1) {
            made = update(center, side, now.element[v], north.element[v], south.element[v], v == 0 ? west : now.element[v > 0 ? v - 1 : 0],
                          v == VEC - 1 ? east : now.element[v + 1 < VEC ? v + 1 : v], last.element[v], next.element[v]);
          }
          narrow(made, written.element[v]);
        }
        store_pack(to, written);
      }
      last = now;
      now = next;
      cell += plane;
      to += plane;
    }
  }
}
