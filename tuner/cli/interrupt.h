#pragma once

namespace tunebook::cli {

// While it lives, the first SIGINT or SIGTERM only sets a flag that long work asks for; the second ends the program at once, unless
// whoever sends them is known to send one twice.
class Interrupt {
 public:
  enum class Again { ends_program, ignored };
  explicit Interrupt(Again again = Again::ends_program);
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  static bool requested();
};

}  // namespace tunebook::cli
