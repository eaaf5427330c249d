#pragma once

// The part of cuDNN 9's interface that is used here, declared anew: cuDNN often comes as a Python package without headers, and the
// module shall be the same with and without them. Numbers and layouts are those of cudnn_graph_v9.h, cudnn_ops_v9.h and cudnn_cnn_v9.h,
// which NVIDIA keeps within a major version.

#include <cstddef>

#include <cuda_runtime_api.h>

namespace tunebook::baselines::cudnn {

using Handle = struct Context*;
using TensorDescriptor = struct TensorStruct*;
using FilterDescriptor = struct FilterStruct*;
using ConvolutionDescriptor = struct ConvolutionStruct*;

using Status = int;
inline constexpr Status kSuccess = 0;

enum DataType : int { kFloat = 0, kDouble = 1, kHalf = 2, kBfloat16 = 9 };
enum TensorFormat : int { kNchw = 0 };
enum ConvolutionMode : int { kConvolution = 0, kCrossCorrelation = 1 };
enum MathType : int { kDefaultMath = 0, kTensorOpMath = 1, kFmaMath = 3 };
enum Determinism : int { kNonDeterministic = 0, kDeterministic = 1 };
using Algorithm = int;
inline constexpr const char* kAlgorithmNames[] = {"IMPLICIT_GEMM", "IMPLICIT_PRECOMP_GEMM", "GEMM",     "DIRECT",
                                                  "FFT",           "FFT_TILING",            "WINOGRAD", "WINOGRAD_NONFUSED"};
inline constexpr int kAlgorithms = 8;

struct Performance {
  Algorithm algorithm;
  Status status;
  float time_ms;
  std::size_t workspace_bytes;
  Determinism determinism;
  MathType math;
  int reserved[3];
};

using GetVersion = std::size_t();
using GetErrorString = const char*(Status);
using Create = Status(Handle*);
using Destroy = Status(Handle);
using SetStream = Status(Handle, cudaStream_t);
using CreateTensor = Status(TensorDescriptor*);
using DestroyTensor = Status(TensorDescriptor);
using SetTensor = Status(TensorDescriptor, TensorFormat, DataType, int n, int c, int h, int w);
using CreateFilter = Status(FilterDescriptor*);
using DestroyFilter = Status(FilterDescriptor);
using SetFilter = Status(FilterDescriptor, DataType, TensorFormat, int k, int c, int h, int w);
using CreateConvolution = Status(ConvolutionDescriptor*);
using DestroyConvolution = Status(ConvolutionDescriptor);
using SetConvolution = Status(ConvolutionDescriptor, int pad_h, int pad_w, int u, int v, int dilation_h, int dilation_w, ConvolutionMode,
                              DataType compute);
using SetMath = Status(ConvolutionDescriptor, MathType);
using FindForward = Status(Handle, TensorDescriptor, const void* x, FilterDescriptor, const void* w, ConvolutionDescriptor, TensorDescriptor,
                           void* y, int requested, int* returned, Performance*, void* workspace, std::size_t workspace_bytes);
using GetForwardWorkspace = Status(Handle, TensorDescriptor, FilterDescriptor, ConvolutionDescriptor, TensorDescriptor, Algorithm, std::size_t* bytes);
using Forward = Status(Handle, const void* alpha, TensorDescriptor, const void* x, FilterDescriptor, const void* w, ConvolutionDescriptor,
                       Algorithm, void* workspace, std::size_t workspace_bytes, const void* beta, TensorDescriptor, void* y);

}  // namespace tunebook::baselines::cudnn
