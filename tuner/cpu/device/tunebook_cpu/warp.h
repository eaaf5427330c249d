#pragma once

// Warp-wide functions. A lane that has left the kernel takes no part; a shuffle from a lane that takes none gives the
// caller's own value (undefined on a GPU).

namespace tunebook_cpu {

template <class T>
__forceinline__ unsigned long long widen(T value) {
  static_assert(sizeof(T) <= 8, "a shuffle moves at most 8 bytes");
  unsigned long long bits = 0;
  __builtin_memcpy(&bits, &value, sizeof value);
  return bits;
}

template <class T>
__forceinline__ T from_lane(const tunebook_cpu_exchange* exchange, int lane, T own) {
  if (lane < 0 || lane > 31 || !((exchange->participants >> lane) & 1u)) return own;
  T value;
  __builtin_memcpy(&value, &exchange->values[lane], sizeof value);
  return value;
}

// Combines the participants' values in the order of their lanes.
template <class T, class Op>
__forceinline__ T reduce(unsigned mask, T value, Op op) {
  const tunebook_cpu_exchange* exchange = tunebook_cpu_warp_exchange(mask, widen(value));
  bool first = true;
  T result = value;
  for (int lane = 0; lane < 32; ++lane) {
    if (!((exchange->participants >> lane) & 1u)) continue;
    const T other = from_lane(exchange, lane, value);
    result = first ? other : op(result, other);
    first = false;
  }
  return result;
}

}  // namespace tunebook_cpu

__forceinline__ void __syncwarp(unsigned mask = 0xffffffffu) { tunebook_cpu_warp_exchange(mask, 0); }
__forceinline__ unsigned __activemask() { return tunebook_cpu_live_lanes(); }

template <class T>
__forceinline__ T __shfl_sync(unsigned mask, T value, int source, int width = 32) {
  const int lane = static_cast<int>(tunebook_cpu_lane());
  return tunebook_cpu::from_lane(tunebook_cpu_warp_exchange(mask, tunebook_cpu::widen(value)),
                                 (source & (width - 1)) | (lane & ~(width - 1)), value);
}
template <class T>
__forceinline__ T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  const int lane = static_cast<int>(tunebook_cpu_lane());
  const tunebook_cpu_exchange* exchange = tunebook_cpu_warp_exchange(mask, tunebook_cpu::widen(value));
  if ((lane & (width - 1)) < static_cast<int>(delta)) return value;
  return tunebook_cpu::from_lane(exchange, lane - static_cast<int>(delta), value);
}
template <class T>
__forceinline__ T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  const int lane = static_cast<int>(tunebook_cpu_lane());
  const tunebook_cpu_exchange* exchange = tunebook_cpu_warp_exchange(mask, tunebook_cpu::widen(value));
  if ((lane & (width - 1)) + static_cast<int>(delta) >= width) return value;
  return tunebook_cpu::from_lane(exchange, lane + static_cast<int>(delta), value);
}
template <class T>
__forceinline__ T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32) {
  const int lane = static_cast<int>(tunebook_cpu_lane());
  const tunebook_cpu_exchange* exchange = tunebook_cpu_warp_exchange(mask, tunebook_cpu::widen(value));
  const int source = lane ^ lane_mask;
  if (source >= (lane & ~(width - 1)) + width) return value;
  return tunebook_cpu::from_lane(exchange, source, value);
}

__forceinline__ unsigned __ballot_sync(unsigned mask, int predicate) {
  return tunebook_cpu_warp_exchange(mask, predicate != 0)->nonzero;
}
__forceinline__ int __any_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
__forceinline__ int __all_sync(unsigned mask, int predicate) {
  const tunebook_cpu_exchange* exchange = tunebook_cpu_warp_exchange(mask, predicate != 0);
  return exchange->nonzero == exchange->participants;
}
template <class T>
__forceinline__ unsigned __match_any_sync(unsigned mask, T value) {
  const unsigned long long bits = tunebook_cpu::widen(value);
  const tunebook_cpu_exchange* exchange = tunebook_cpu_warp_exchange(mask, bits);
  unsigned equal = 0;
  for (int lane = 0; lane < 32; ++lane) {
    if (((exchange->participants >> lane) & 1u) && exchange->values[lane] == bits) equal |= 1u << lane;
  }
  return equal;
}

__forceinline__ int __reduce_add_sync(unsigned mask, int value) {
  return tunebook_cpu::reduce(mask, value, [](int x, int y) { return x + y; });
}
__forceinline__ unsigned __reduce_add_sync(unsigned mask, unsigned value) {
  return tunebook_cpu::reduce(mask, value, [](unsigned x, unsigned y) { return x + y; });
}
template <class T>
__forceinline__ T __reduce_min_sync(unsigned mask, T value) {
  return tunebook_cpu::reduce(mask, value, [](T x, T y) { return y < x ? y : x; });
}
template <class T>
__forceinline__ T __reduce_max_sync(unsigned mask, T value) {
  return tunebook_cpu::reduce(mask, value, [](T x, T y) { return x < y ? y : x; });
}
