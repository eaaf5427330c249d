#pragma once

// What the worker program provides to compiled kernels. Included by both; plain C types only.

extern "C" {

// Which CUDA thread runs on this OS thread, and where its block's shared memory is. The worker writes them; for a kernel they
// are constants (a compiler may then keep them in registers), because a kernel's code never sees two CUDA threads in one call.
// Initial-exec: the variables are the program's own, so an access is one load relative to the thread pointer.
#ifndef TUNEBOOK_CPU_RUNTIME
#define TUNEBOOK_CPU_STATE(type, name) extern const __thread type name __attribute__((tls_model("initial-exec")))
#else
#define TUNEBOOK_CPU_STATE(type, name) extern __thread type name
#endif
TUNEBOOK_CPU_STATE(unsigned, tunebook_cpu_thread_x);
TUNEBOOK_CPU_STATE(unsigned, tunebook_cpu_thread_y);
TUNEBOOK_CPU_STATE(unsigned, tunebook_cpu_thread_z);
TUNEBOOK_CPU_STATE(unsigned, tunebook_cpu_block_x);
TUNEBOOK_CPU_STATE(unsigned, tunebook_cpu_block_y);
TUNEBOOK_CPU_STATE(unsigned, tunebook_cpu_block_z);
TUNEBOOK_CPU_STATE(unsigned, tunebook_cpu_block_dim_x);
TUNEBOOK_CPU_STATE(unsigned, tunebook_cpu_block_dim_y);
TUNEBOOK_CPU_STATE(unsigned, tunebook_cpu_block_dim_z);
TUNEBOOK_CPU_STATE(unsigned, tunebook_cpu_grid_dim_x);
TUNEBOOK_CPU_STATE(unsigned, tunebook_cpu_grid_dim_y);
TUNEBOOK_CPU_STATE(unsigned, tunebook_cpu_grid_dim_z);
TUNEBOOK_CPU_STATE(char*, tunebook_cpu_static_shared);
TUNEBOOK_CPU_STATE(char*, tunebook_cpu_dynamic_shared);

// Atomics left before the thread is taken to be spinning and yields.
extern __thread unsigned tunebook_cpu_atomic_budget
#ifndef TUNEBOOK_CPU_RUNTIME
    __attribute__((tls_model("initial-exec")))
#endif
    ;

// Values that the lanes of a warp exchanged. Bit l of a mask stands for lane l.
struct tunebook_cpu_exchange {
  unsigned long long values[32];
  unsigned participants;  // lanes that gave a value
  unsigned nonzero;       // of them, those whose value is not zero
};

// Waits until every live lane named by `mask` is here; the answer is valid until the lane's next exchange.
const struct tunebook_cpu_exchange* tunebook_cpu_warp_exchange(unsigned mask, unsigned long long value);
unsigned tunebook_cpu_lane();
unsigned tunebook_cpu_live_lanes();  // lanes of the warp that have not left the kernel

// __syncthreads: returns how many threads came with a nonzero predicate; *all says whether every one did.
int tunebook_cpu_sync_threads(int predicate, int* all, const char* file, int line);

// The calling thread spins: lets others run.
void tunebook_cpu_spin();

// Ends the launch with outcome `fault`.
[[noreturn]] void tunebook_cpu_trap(const char* what, const char* file, int line);

// Called while a kernel is being loaded, once per static __shared__ declaration; returns its offset.
unsigned tunebook_cpu_reserve_shared(unsigned bytes, unsigned alignment);

}  // extern "C"
