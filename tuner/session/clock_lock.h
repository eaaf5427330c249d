#pragma once

#include <string>

#include <sys/types.h>

namespace tunebook {

// Holds the SM clock of one GPU at a fixed rate for as long as it lives: by a process of its own (tuner/cuda/clock_holder.h), which resets
// the clock when this object is destroyed, and also when this program ends in any other way.
class ClockLock {
 public:
  // `program`: the worker program of the GPU. `pci_bus_id` ("0000:1b:00.0") and `uuid` name the GPU; one of them may be empty. Throws
  // EnvironmentError, which says why, if the clock cannot be locked.
  ClockLock(const std::string& program, int mhz, const std::string& pci_bus_id, const std::string& uuid);
  // Waits until the clock is reset, a few seconds at most.
  ~ClockLock();
  ClockLock(const ClockLock&) = delete;
  ClockLock& operator=(const ClockLock&) = delete;

  // Of the process that holds it.
  pid_t holder() const { return pid_; }

 private:
  std::string first_line(int fd) const;
  void end();

  pid_t pid_ = -1;
  int input_ = -1;  // of the holder; it resets the clock when this closes
};

}  // namespace tunebook
