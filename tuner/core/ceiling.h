#pragma once

#include <cstdint>
#include <string>

namespace tunebook {

// One measured limit of a device.
struct Ceiling {
  std::string what;        // bandwidth: "copy", "read", "write"; arithmetic: "fma_f32", "fma_f64", "tensor_f16", ...
  std::int64_t bytes = 0;  // bandwidth: moved by one launch, reads and writes together; 0 for arithmetic
  std::string method;      // how the time was taken, "cold/2"
  double rate = 0;         // GB/s or GFLOP/s
  double low = 0, high = 0;  // 95 % interval of the rate
  friend bool operator==(const Ceiling&, const Ceiling&) = default;
};

}  // namespace tunebook
