#pragma once

#include <string>

namespace tunebook {

// `--device`: cuda:N, cpu, replay:PATH, or empty for the best one present.
struct DeviceChoice {
  enum class Kind { automatic, cuda, cpu, replay };
  Kind kind = Kind::automatic;
  std::string argument;   // "0", or the path
  // Throws InputError for anything else.
  static DeviceChoice parse(const std::string& text);
  std::string text() const;
};

}  // namespace tunebook
