#include "baselines/operation.h"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace tunebook::baselines {

std::string Request::word(const char* name) const {
  for (int i = 0; i < request_.parameter_count; ++i) {
    if (std::strcmp(request_.parameters[i].name, name) == 0) return request_.parameters[i].value;
  }
  throw std::runtime_error(std::string("the request lacks the parameter ") + name);
}

std::int64_t Request::integer(const char* name) const {
  const std::string text = word(name);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) throw std::runtime_error(std::string(name) + " is no integer: " + text);
  return value;
}

double Request::number(const char* name) const {
  const std::string text = word(name);
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0') throw std::runtime_error(std::string(name) + " is no number: " + text);
  return value;
}

void Request::require_elements(std::size_t buffer, std::int64_t least) const {
  if (request_.buffers[buffer].count >= least) return;
  throw std::runtime_error("buffer " + std::to_string(buffer) + " of " + operation() + " has " + std::to_string(request_.buffers[buffer].count) +
                           " elements, the parameters need " + std::to_string(least) + ": correct the kernel's \"baseline\"");
}

void check(cudaError_t code, const char* during) {
  if (code == cudaSuccess) return;
  cudaGetLastError();
  throw std::runtime_error(std::string(cudaGetErrorName(code)) + ": " + cudaGetErrorString(code) + " (" + during + ")");
}

Workspace::Workspace(std::size_t bytes) : bytes_(bytes) {
  if (bytes > 0) check(cudaMalloc(&pointer_, bytes), "allocating a workspace");
}

Workspace::~Workspace() {
  if (pointer_ == nullptr) return;
  // After a fault every call fails, which is reported by whoever caused it.
  const cudaError_t code = cudaFree(pointer_);
  if (code == cudaErrorInvalidValue) std::fprintf(stderr, "%s:%d: cudaFree: %s\n", __FILE__, __LINE__, cudaGetErrorName(code));
}

Workspace::Workspace(Workspace&& other) noexcept : pointer_(std::exchange(other.pointer_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

Workspace& Workspace::operator=(Workspace&& other) noexcept {
  std::swap(pointer_, other.pointer_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

}  // namespace tunebook::baselines
