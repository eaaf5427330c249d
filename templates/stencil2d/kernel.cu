// `steps` steps of the 5-point stencil on an h x w grid, row-major: each step replaces every inner cell by
// center * cell + side * (its four neighbours). Cells at the edge keep their value. `in` is never written. Every h, w, steps >= 1 is right.
//
// A launch makes TIME steps (the last one what is left), so that a cell is read and written once per TIME steps. Launches take turns
// between `work` and `out`, such that the last one writes `out`. METHOD:
// 0: one cell per thread, from global memory.
// 1: a block keeps a tile with a halo of TIME cells in shared memory; the part that is still right shrinks by one cell per step.
// 2: a warp walks down a strip of 32 * VEC columns and keeps the last two rows of every time level in registers: as a row arrives, each
//    level gains a row, one row further up. Neighbouring columns come from neighbouring lanes. There are no barriers.
#include "element.cuh"
#include "pack.cuh"

__device__ constexpr int round_up(int value, int step) { return (value + step - 1) / step * step; }

// What a launch does: its source and destination, and how many steps.
template <typename T>
struct pass {
  const T* from;
  T* to;
  int steps;

  __device__ pass(T* out, const T* in, T* work, int all_steps, int time, int iteration) {
    const int left = (all_steps - iteration * time + time - 1) / time;  // launches left, this one too
    to = left % 2 == 1 ? out : work;
    from = iteration == 0 ? in : left % 2 == 1 ? work : out;
    steps = all_steps - iteration * time < time ? all_steps - iteration * time : time;
  }
};

template <typename Sum>
__device__ __forceinline__ Sum update(Sum center, Sum side, Sum cell, Sum north, Sum south, Sum west, Sum east) {
  return center * cell + side * ((north + south) + (west + east));
}

// METHOD 2, one strip. `row` may lie above the grid and `column` left of it; INNER: everything the warp touches is inside, no cell
// is at an edge, and the launch makes TIME steps.
template <typename T, int VEC, int TIME, int BATCH, bool INNER>
__device__ __forceinline__ void walk_down(T* __restrict__ to, const T* __restrict__ from, long long h, long long w, long long row,
                                          long long column, int rows, int steps, accumulator_t<T> center, accumulator_t<T> side) {
  using Sum = accumulator_t<T>;
  constexpr int kHalo = round_up(TIME, VEC);
  const int lane = threadIdx.x % 32;
  const long long x = column + lane * VEC;
  const bool inside = x >= 0 && x < w;  // w and x are multiples of VEC: a pack lies inside or outside as a whole
  const bool stores = inside && lane * VEC >= kHalo && lane * VEC < 32 * VEC - kHalo;

  auto load = [&](int r) {
    if (INNER || (inside && row + r >= 0 && row + r < h)) return load_pack<VEC>(from + (row + r) * w + x);
    return pack<T, VEC>{};
  };
  // The two last rows of the levels 0 ... TIME - 1. What was never loaded reaches no result.
  Sum above[TIME][VEC] = {};
  Sum middle[TIME][VEC] = {};
  pack<T, VEC> arriving[BATCH];
#pragma unroll
  for (int b = 0; b < BATCH; ++b) arriving[b] = load(b);

#pragma unroll 1
  for (int r0 = 0; r0 < rows + 2 * TIME; r0 += BATCH) {
    pack<T, VEC> next[BATCH] = {};  // on their way while this batch is worked on
#pragma unroll
    for (int b = 0; b < BATCH; ++b) {
      if (r0 + BATCH + b < rows + 2 * TIME) next[b] = load(r0 + BATCH + b);
    }
#pragma unroll
    for (int b = 0; b < BATCH; ++b) {
      const int r = r0 + b;
      Sum below[VEC];
#pragma unroll
      for (int v = 0; v < VEC; ++v) below[v] = widen(arriving[b].element[v]);
#pragma unroll
      for (int t = 0; t < TIME; ++t) {  // row r - t of level t has arrived in `below`: row r - t - 1 of level t + 1 can be made
        const Sum from_west = __shfl_up_sync(0xffffffffu, middle[t][VEC - 1], 1);
        const Sum from_east = __shfl_down_sync(0xffffffffu, middle[t][0], 1);
        const long long y = row + r - t - 1;
        const bool keep = !INNER && (t >= steps || y <= 0 || y >= h - 1);
        Sum made[VEC];
#pragma unroll
        for (int v = 0; v < VEC; ++v) {
          const Sum west = v == 0 ? from_west : middle[t][v - 1 < 0 ? 0 : v - 1];
          const Sum east = v == VEC - 1 ? from_east : middle[t][v + 1 < VEC ? v + 1 : v];
          made[v] = update(center, side, middle[t][v], above[t][v], below[v], west, east);
          if (!INNER && (keep || x + v <= 0 || x + v >= w - 1)) made[v] = middle[t][v];
        }
#pragma unroll
        for (int v = 0; v < VEC; ++v) {
          above[t][v] = middle[t][v];
          middle[t][v] = below[v];
          below[v] = made[v];
        }
      }
      const long long y = row + r - TIME;
      if (stores && r >= 2 * TIME && r < rows + 2 * TIME && (INNER || y < h)) {
        pack<T, VEC> written;
#pragma unroll
        for (int v = 0; v < VEC; ++v) narrow(below[v], written.element[v]);
        store_pack(to + y * w + x, written);
      }
    }
#pragma unroll
    for (int b = 0; b < BATCH; ++b) arriving[b] = next[b];
  }
}

template <typename T, int METHOD, int WARPS, int ROWS, int VEC, int TIME, int BATCH>
__global__ void __launch_bounds__(32 * WARPS)
    stencil2d(T* out, const T* in, T* work, long long h, long long w, int all_steps, int iteration, T center_weight, T side_weight) {
  using Sum = accumulator_t<T>;
  const pass<T> now(out, in, work, all_steps, TIME, iteration);
  const T* __restrict__ const from = now.from;
  T* __restrict__ const to = now.to;
  const Sum center = widen(center_weight);
  const Sum side = widen(side_weight);
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;

  if constexpr (METHOD == 0) {
    static_assert(TIME == 1 && VEC == 1, "one cell per thread, one step per launch");
    const unsigned blocks_x = static_cast<unsigned>((w + 31) / 32);
    const long long x = static_cast<long long>(blockIdx.x % blocks_x) * 32 + lane;
    const long long y = static_cast<long long>(blockIdx.x / blocks_x) * WARPS + warp;
    if (x >= w || y >= h) return;
    const T* cell = from + y * w + x;
    Sum made = widen(*cell);
    if (x > 0 && x < w - 1 && y > 0 && y < h - 1) {
      made = update(center, side, made, widen(cell[-w]), widen(cell[w]), widen(cell[-1]), widen(cell[1]));
    }
    narrow(made, to[y * w + x]);
  } else if constexpr (METHOD == 1) {
    constexpr int kWidth = 32 * VEC + 2 * TIME;
    constexpr int kHeight = ROWS + 2 * TIME;
    extern __shared__ __align__(16) unsigned char shared_memory[];
    Sum* now_tile = reinterpret_cast<Sum*>(shared_memory);
    Sum* next_tile = now_tile + kWidth * kHeight;
    const unsigned blocks_x = static_cast<unsigned>((w + 32 * VEC - 1) / (32 * VEC));
    const long long x0 = static_cast<long long>(blockIdx.x % blocks_x) * (32 * VEC) - TIME;
    const long long y0 = static_cast<long long>(blockIdx.x / blocks_x) * ROWS - TIME;

#pragma unroll 4
    for (int r = warp; r < kHeight; r += WARPS) {
#pragma unroll
      for (int c = lane; c < kWidth; c += 32) {
        const bool inside = y0 + r >= 0 && y0 + r < h && x0 + c >= 0 && x0 + c < w;
        now_tile[r * kWidth + c] = inside ? widen(from[(y0 + r) * w + x0 + c]) : Sum(0);
      }
    }
    __syncthreads();
#pragma unroll 1
    for (int s = 1; s <= now.steps; ++s) {
#pragma unroll 2
      for (int r = s + warp; r < kHeight - s; r += WARPS) {
        const bool keep = y0 + r <= 0 || y0 + r >= h - 1;
#pragma unroll
        for (int c = lane; c < kWidth; c += 32) {
          if (c < s || c >= kWidth - s) continue;
          const Sum* cell = now_tile + r * kWidth + c;
          Sum made = *cell;
          if (!keep && x0 + c > 0 && x0 + c < w - 1) {
            made = update(center, side, made, cell[-kWidth], cell[kWidth], cell[-1], cell[1]);
          }
          if (s < now.steps) {
            next_tile[r * kWidth + c] = made;
          } else if (r >= TIME && r < TIME + ROWS && c >= TIME && c < TIME + 32 * VEC && y0 + r < h && x0 + c < w) {
            narrow(made, to[(y0 + r) * w + x0 + c]);
          }
        }
      }
      __syncthreads();
      Sum* const swapped = now_tile;
      now_tile = next_tile;
      next_tile = swapped;
    }
  } else {
    constexpr int kHalo = round_up(TIME, VEC);
    constexpr int kColumns = 32 * VEC - 2 * kHalo;  // of a strip's results
    static_assert(kColumns > 0, "the halos leave nothing of the strip");
    const unsigned strips = static_cast<unsigned>((w + kColumns - 1) / kColumns);
    const unsigned blocks_x = (strips + WARPS - 1) / WARPS;
    const unsigned strip = blockIdx.x % blocks_x * WARPS + warp;
    if (strip >= strips) return;  // a whole warp
    const long long column = static_cast<long long>(strip) * kColumns - kHalo;
    const long long row = static_cast<long long>(blockIdx.x / blocks_x) * ROWS - TIME;
    const bool inner = column > 0 && column + 32 * VEC < w && row > 0 && row + ROWS + 2 * TIME <= h &&
                       now.steps == TIME;
    if (inner) {
      walk_down<T, VEC, TIME, BATCH, true>(to, from, h, w, row, column, ROWS, TIME, center, side);
    } else {
      walk_down<T, VEC, TIME, BATCH, false>(to, from, h, w, row, column, ROWS, now.steps, center, side);
    }
  }
}
