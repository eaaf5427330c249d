#pragma once

// What the CUDA worker and the module libtunebook-baselines.so know of each other: C functions, found by dlsym. The module holds what a
// worker shall not need in order to start: CUB's kernels, and the ways into cuBLAS and cuDNN, which it opens itself when first needed.
// All calls are from one thread, with the worker's device current. Texts that are returned live as long as the object that gave them
// (those without one: for ever). `message` receives at most `message_size` bytes with a 0 at the end.

#include <cstddef>
#include <cstdint>

#include <cuda_runtime_api.h>

extern "C" {

// Raised with every change of what follows.
#define TUNEBOOK_BASELINE_ABI 2

struct TunebookBaselineBuffer {
  void* pointer;      // in device memory, aligned to 256 bytes at least
  const char* dtype;  // "f32"
  std::int64_t count; // elements
};
struct TunebookBaselineParameter {
  const char* name;
  const char* value;  // "128", "0.5", "ieee"
};
// Operations, their buffers and parameters: tuner/core/baseline.h. All parameters are given.
struct TunebookBaselineRequest {
  const char* operation;
  const TunebookBaselineBuffer* buffers;
  int buffer_count;
  const TunebookBaselineParameter* parameters;
  int parameter_count;
  const char* const* only;      // names of algorithms that are enough, if one of them is there; null: all are wanted
  int only_count;
  std::size_t workspace_bytes;  // device memory that it may take at most
  cudaStream_t stream;
};

// A prepared operation and the algorithms that there are for it.
struct TunebookBaseline;

enum TunebookBaselineStatus {
  TUNEBOOK_BASELINE_OK = 0,
  TUNEBOOK_BASELINE_UNAVAILABLE = 1,  // no such library, or it has nothing for these types or sizes
  TUNEBOOK_BASELINE_FAILED = 2
};

typedef int TunebookBaselineAbi(void);
// Lines of what is there: "cuBLAS 13.0.2 /usr/local/cuda/lib64/libcublas.so.13", "cuDNN: not found: ..."; opens all libraries.
typedef const char* TunebookBaselineLibraries(void);
// May write to the buffers. `created` is set only with TUNEBOOK_BASELINE_OK.
typedef int TunebookBaselineCreate(const TunebookBaselineRequest* request, TunebookBaseline** created, char* message,
                                   std::size_t message_size);
typedef void TunebookBaselineDestroy(TunebookBaseline* baseline);
typedef const char* TunebookBaselineName(const TunebookBaseline* baseline);  // library and version: "cuBLAS 13.0.2"
typedef int TunebookBaselineAlgorithms(const TunebookBaseline* baseline);    // at least 1; likely fast ones first
typedef const char* TunebookBaselineAlgorithmName(const TunebookBaseline* baseline, int algorithm);
// Queues one run on the request's stream; may be captured into a graph once it ran outside of one. `pointers`: a set of buffers like
// those of the request, in its order. Neither allocates nor synchronises.
typedef int TunebookBaselineEnqueue(TunebookBaseline* baseline, int algorithm, void* const* pointers, char* message,
                                    std::size_t message_size);

}  // extern "C"
