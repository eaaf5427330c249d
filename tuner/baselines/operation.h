#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>

#include "baselines/baseline_abi.h"

namespace tunebook::baselines {

// There is no such library, or it has nothing for this request.
class Unavailable : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A prepared operation: what is behind a TunebookBaseline.
class Operation {
 public:
  virtual ~Operation() = default;
  virtual std::string name() const = 0;
  virtual std::vector<std::string> algorithms() const = 0;
  // On the request's stream. Throws std::runtime_error.
  virtual void enqueue(std::size_t algorithm, void* const* pointers) = 0;
};

// Reads a request. Throws std::runtime_error for what a worker of the same version never sends.
class Request {
 public:
  explicit Request(const TunebookBaselineRequest& request) : request_(request) {}
  std::string operation() const { return request_.operation; }
  std::int64_t integer(const char* name) const;
  double number(const char* name) const;
  std::string word(const char* name) const;
  bool flag(const char* name) const { return integer(name) != 0; }
  std::size_t buffers() const { return static_cast<std::size_t>(request_.buffer_count); }
  std::string dtype(std::size_t buffer) const { return request_.buffers[buffer].dtype; }
  void* pointer(std::size_t buffer) const { return request_.buffers[buffer].pointer; }
  // A kernel that holds less than the parameters say was declared wrongly: throws, naming the buffer's place.
  void require_elements(std::size_t buffer, std::int64_t least) const;
  // Algorithms that are enough, if one of them is there; empty: all are wanted.
  std::vector<std::string> only() const { return {request_.only, request_.only + request_.only_count}; }
  std::size_t workspace_bytes() const { return request_.workspace_bytes; }
  cudaStream_t stream() const { return request_.stream; }

 private:
  const TunebookBaselineRequest& request_;
};

// Throws std::runtime_error.
void check(cudaError_t code, const char* during);

// Device memory of the module, owned.
class Workspace {
 public:
  Workspace() = default;
  explicit Workspace(std::size_t bytes);
  ~Workspace();
  Workspace(Workspace&& other) noexcept;
  Workspace& operator=(Workspace&& other) noexcept;
  void* get() const { return pointer_; }
  std::size_t bytes() const { return bytes_; }

 private:
  void* pointer_ = nullptr;
  std::size_t bytes_ = 0;
};

// A library's handle, which its own function destroys.
template <typename Handle>
class Owned {
 public:
  using Destroy = std::function<void(Handle)>;
  explicit Owned(Destroy destroy) : destroy_(std::move(destroy)) {}
  ~Owned() {
    if (handle_ != nullptr) destroy_(handle_);
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  Handle* created() { return &handle_; }  // for the function that makes it, once
  Handle get() const { return handle_; }

 private:
  Handle handle_ = nullptr;
  Destroy destroy_;
};

// Each throws Unavailable or std::runtime_error.
std::unique_ptr<Operation> make_gemm(const Request& request);
std::unique_ptr<Operation> make_conv2d(const Request& request);
std::unique_ptr<Operation> make_reduce(const Request& request);
std::unique_ptr<Operation> make_scan(const Request& request);

// One line each, for people.
std::string describe_cublas();
std::string describe_cudnn();
std::string cub_name();  // "CUB 3.0.1"

}  // namespace tunebook::baselines
