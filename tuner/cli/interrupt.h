#pragma once

namespace tunebook::cli {

// While it lives, the first SIGINT or SIGTERM only sets a flag that long work asks for; the second ends the program at once.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  static bool requested();
};

}  // namespace tunebook::cli
