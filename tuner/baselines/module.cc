// The module's C functions.

#include <algorithm>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "baselines/operation.h"

using namespace tunebook::baselines;

struct TunebookBaseline {
  std::unique_ptr<Operation> operation;
  std::string name;
  std::vector<std::string> algorithms;
};

namespace {

int tell(const std::exception& error, int status, char* message, std::size_t size) {
  if (size > 0) {
    const std::size_t length = std::min(std::strlen(error.what()), size - 1);
    std::memcpy(message, error.what(), length);
    message[length] = '\0';
  }
  return status;
}

int guarded(const std::function<void()>& body, char* message, std::size_t size) {
  try {
    body();
    return TUNEBOOK_BASELINE_OK;
  } catch (const Unavailable& error) {
    return tell(error, TUNEBOOK_BASELINE_UNAVAILABLE, message, size);
  } catch (const std::exception& error) {
    return tell(error, TUNEBOOK_BASELINE_FAILED, message, size);
  }
}

std::unique_ptr<Operation> make(const Request& request) {
  const std::string operation = request.operation();
  if (operation == "gemm") return make_gemm(request);
  if (operation == "conv2d") return make_conv2d(request);
  if (operation == "reduce") return make_reduce(request);
  if (operation == "scan") return make_scan(request);
  throw Unavailable("the module knows no operation " + operation);
}

}  // namespace

#define TUNEBOOK_EXPORT extern "C" __attribute__((visibility("default")))

TUNEBOOK_EXPORT int tunebook_baseline_abi() { return TUNEBOOK_BASELINE_ABI; }

TUNEBOOK_EXPORT const char* tunebook_baseline_libraries() {
  static const std::string text = describe_cublas() + "\n" + describe_cudnn() + "\n" + cub_name();
  return text.c_str();
}

TUNEBOOK_EXPORT int tunebook_baseline_create(const TunebookBaselineRequest* request, TunebookBaseline** created, char* message,
                                             std::size_t message_size) {
  return guarded(
      [&] {
        auto baseline = std::make_unique<TunebookBaseline>();
        baseline->operation = make(Request(*request));
        baseline->name = baseline->operation->name();
        baseline->algorithms = baseline->operation->algorithms();
        *created = baseline.release();
      },
      message, message_size);
}

TUNEBOOK_EXPORT void tunebook_baseline_destroy(TunebookBaseline* baseline) { delete baseline; }
TUNEBOOK_EXPORT const char* tunebook_baseline_name(const TunebookBaseline* baseline) { return baseline->name.c_str(); }
TUNEBOOK_EXPORT int tunebook_baseline_algorithms(const TunebookBaseline* baseline) { return static_cast<int>(baseline->algorithms.size()); }
TUNEBOOK_EXPORT const char* tunebook_baseline_algorithm_name(const TunebookBaseline* baseline, int algorithm) {
  return baseline->algorithms.at(static_cast<std::size_t>(algorithm)).c_str();
}
TUNEBOOK_EXPORT int tunebook_baseline_enqueue(TunebookBaseline* baseline, int algorithm, void* const* pointers, char* message,
                                              std::size_t message_size) {
  return guarded([&] { baseline->operation->enqueue(static_cast<std::size_t>(algorithm), pointers); }, message, message_size);
}
