#pragma once

namespace tunebook_cpu {

template <int... I>
struct Indices {};
template <int N, int... I>
struct MakeIndices : MakeIndices<N - 1, N - 1, I...> {};
template <int... I>
struct MakeIndices<0, I...> {
  typedef Indices<I...> type;
};

template <class... P, int... I>
__forceinline__ void invoke_with(void (*kernel)(P...), void** arguments, Indices<I...>) {
  kernel(*static_cast<P*>(arguments[I])...);
}

// Calls `kernel` with the arguments that the pointers lead to, as cudaLaunchKernel does: the types are the kernel's own.
template <class... P>
__forceinline__ void invoke(void (*kernel)(P...), void** arguments) {
  invoke_with(kernel, arguments, typename MakeIndices<sizeof...(P)>::type());
}

}  // namespace tunebook_cpu
