// CUB's device-wide reductions and scans: one algorithm each, chosen by CUB itself for the device.

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/version.cuh>
#include <cuda/std/functional>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "baselines/operation.h"

namespace tunebook::baselines {
namespace {

// The common case of CUB: a number of items of 32 bits, for which its kernels are leanest.
int item_count(const Request& request) {
  const std::int64_t n = request.integer("n");
  if (n > std::numeric_limits<int>::max()) throw Unavailable("CUB is built for less than 2^31 elements here, not for " + std::to_string(n));
  return static_cast<int>(n);
}

// A CUB call: with a null workspace it only says how many bytes it needs.
using Call = std::function<cudaError_t(void* workspace, std::size_t& bytes, void* const* pointers, cudaStream_t stream)>;

class CubOperation : public Operation {
 public:
  CubOperation(const Request& request, Call call) : call_(std::move(call)), stream_(request.stream()) {
    std::vector<void*> pointers;
    for (std::size_t i = 0; i < request.buffers(); ++i) pointers.push_back(request.pointer(i));
    std::size_t bytes = 0;
    check(call_(nullptr, bytes, pointers.data(), stream_), "asking CUB for its workspace");
    workspace_ = Workspace(bytes == 0 ? 1 : bytes);
  }
  std::string name() const override { return cub_name(); }
  std::vector<std::string> algorithms() const override { return {"CUB's own choice"}; }
  void enqueue(std::size_t, void* const* pointers) override {
    std::size_t bytes = workspace_.bytes();
    check(call_(workspace_.get(), bytes, pointers, stream_), "CUB");
  }

 private:
  Call call_;
  cudaStream_t stream_;
  Workspace workspace_;
};

// Sums of narrow types are accumulated in f32.
template <typename T>
struct AccumulatorOf {
  using type = T;
};
template <>
struct AccumulatorOf<__half> {
  using type = float;
};
template <>
struct AccumulatorOf<__nv_bfloat16> {
  using type = float;
};

// The standard operator on the accumulator's type: CUB has tuned kernels for it, not for one of ours.
template <typename Accumulator>
using Plus = ::cuda::std::plus<Accumulator>;

template <typename In, typename Out, typename Accumulator>
Call sum_call(int n) {
  return [n](void* workspace, std::size_t& bytes, void* const* pointers, cudaStream_t stream) {
    const auto* input = static_cast<const In*>(pointers[1]);
    auto* output = static_cast<Out*>(pointers[0]);
    if constexpr (std::is_same_v<In, Out> && std::is_same_v<In, Accumulator>) {
      return cub::DeviceReduce::Sum(workspace, bytes, input, output, n, stream);
    } else {
      return cub::DeviceReduce::Reduce(workspace, bytes, input, output, n, Plus<Accumulator>{}, Accumulator{0}, stream);
    }
  };
}

template <typename T>
Call extreme_call(int n, bool largest) {
  return [n, largest](void* workspace, std::size_t& bytes, void* const* pointers, cudaStream_t stream) {
    const auto* input = static_cast<const T*>(pointers[1]);
    auto* output = static_cast<T*>(pointers[0]);
    return largest ? cub::DeviceReduce::Max(workspace, bytes, input, output, n, stream)
                   : cub::DeviceReduce::Min(workspace, bytes, input, output, n, stream);
  };
}

// The index goes to buffer 2 and the value to buffer 0, or, without buffer 2, the index to buffer 0 and the value to `unused`.
template <typename T, typename Index>
Call argmax_call(int n, bool has_value, std::shared_ptr<Workspace> unused) {
  return [n, has_value, unused](void* workspace, std::size_t& bytes, void* const* pointers, cudaStream_t stream) {
    auto* value = static_cast<T*>(has_value ? pointers[0] : unused->get());
    auto* index = static_cast<Index*>(pointers[has_value ? 2 : 0]);
    return cub::DeviceReduce::ArgMax(workspace, bytes, static_cast<const T*>(pointers[1]), value, index,
                                     static_cast<::cuda::std::int64_t>(n), stream);
  };
}

template <typename T>
Call argmax_of(const Request& request) {
  const bool has_value = request.buffers() == 3;
  const std::string index = request.dtype(has_value ? 2 : 0);
  auto unused = std::make_shared<Workspace>(has_value ? 0 : sizeof(double));
  if (index == "i64") return argmax_call<T, std::int64_t>(item_count(request), has_value, unused);
  if (index == "i32") return argmax_call<T, std::int32_t>(item_count(request), has_value, unused);
  throw Unavailable("argmax writes an index of i32 or i64, not " + index);
}

template <typename T>
Call sum_of(const Request& request, const char* name) {
  const std::string out = request.dtype(0);
  using Accumulator = typename AccumulatorOf<T>::type;
  if (out == name) return sum_call<T, T, Accumulator>(item_count(request));
  if constexpr (!std::is_same_v<T, Accumulator>) {
    if (out == "f32") return sum_call<T, float, float>(item_count(request));
  }
  if constexpr (std::is_same_v<T, std::int32_t>) {
    if (out == "i64") return sum_call<T, std::int64_t, std::int64_t>(item_count(request));
  }
  if constexpr (std::is_same_v<T, float>) {
    if (out == "f64") return sum_call<T, double, double>(item_count(request));
  }
  throw Unavailable(std::string("no sum of ") + name + " into " + out + " is built in");
}

template <typename T>
Call reduce_of(const Request& request, const char* name) {
  const std::string operation = request.word("operation");
  if (operation == "sum") return sum_of<T>(request, name);
  if (operation == "argmax") return argmax_of<T>(request);
  if (request.dtype(0) != name) throw Unavailable(std::string("no ") + operation + " of " + name + " into " + request.dtype(0) + " is built in");
  return extreme_call<T>(item_count(request), operation == "max");
}

template <typename T>
Call scan_of(const Request& request, const char* name) {
  using Accumulator = typename AccumulatorOf<T>::type;
  if (request.dtype(0) != name) throw Unavailable(std::string("no scan of ") + name + " into " + request.dtype(0) + " is built in");
  const int n = item_count(request);
  const bool inclusive = request.word("kind") == "inclusive";
  return [n, inclusive](void* workspace, std::size_t& bytes, void* const* pointers, cudaStream_t stream) {
    const auto* input = static_cast<const T*>(pointers[1]);
    auto* output = static_cast<T*>(pointers[0]);
    if constexpr (std::is_same_v<T, Accumulator>) {
      return inclusive ? cub::DeviceScan::InclusiveSum(workspace, bytes, input, output, n, stream)
                       : cub::DeviceScan::ExclusiveSum(workspace, bytes, input, output, n, stream);
    } else {
      const Plus<Accumulator> plus;
      return inclusive ? cub::DeviceScan::InclusiveScanInit(workspace, bytes, input, output, plus, Accumulator{0}, n, stream)
                       : cub::DeviceScan::ExclusiveScan(workspace, bytes, input, output, plus, Accumulator{0}, n, stream);
    }
  };
}


// Calls `make<T>` for the input's type.
template <typename Make>
Call by_type(const Request& request, Make make) {
  const std::string type = request.dtype(1);
  if (type == "f32") return make(float{}, "f32");
  if (type == "f64") return make(double{}, "f64");
  if (type == "f16") return make(__half{}, "f16");
  if (type == "bf16") return make(__nv_bfloat16{}, "bf16");
  if (type == "i32") return make(std::int32_t{}, "i32");
  throw Unavailable("no " + request.operation() + " of " + type + " is built in (f32, f64, f16, bf16, i32 are)");
}

}  // namespace

std::string cub_name() {
  return "CUB " + std::to_string(CUB_MAJOR_VERSION) + "." + std::to_string(CUB_MINOR_VERSION) + "." + std::to_string(CUB_SUBMINOR_VERSION);
}

std::unique_ptr<Operation> make_reduce(const Request& request) {
  request.require_elements(0, 1);
  request.require_elements(1, request.integer("n"));
  return std::make_unique<CubOperation>(request, by_type(request, [&](auto one, const char* name) { return reduce_of<decltype(one)>(request, name); }));
}

std::unique_ptr<Operation> make_scan(const Request& request) {
  request.require_elements(0, request.integer("n"));
  request.require_elements(1, request.integer("n"));
  return std::make_unique<CubOperation>(request, by_type(request, [&](auto one, const char* name) { return scan_of<decltype(one)>(request, name); }));
}

}  // namespace tunebook::baselines
