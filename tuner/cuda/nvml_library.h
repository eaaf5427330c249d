#pragma once

#include <memory>
#include <string>

namespace tunebook {

// The driver's management library, opened at run time: its header may be absent where Tunebook is built, and the library where it
// runs, so the few prototypes are declared here (values from NVIDIA's NVML API reference). Every function may be missing.
class NvmlLibrary {
 public:
  using Handle = void*;  // nvmlDevice_t
  enum Clock : int { kSmClock = 1, kMemoryClock = 2 };
  static constexpr int kSuccess = 0;
  static constexpr int kGpuTemperature = 0;

  // The file in $TUNEBOOK_NVML, else libnvidia-ml.so.1, initialised. Null, and the reason in `why`, if that is not possible; never
  // throws. May take tens of milliseconds; may be called in a thread of its own.
  static std::shared_ptr<const NvmlLibrary> open(std::string& why);
  ~NvmlLibrary();
  NvmlLibrary(const NvmlLibrary&) = delete;
  NvmlLibrary& operator=(const NvmlLibrary&) = delete;

  // What a code means, for messages.
  std::string error_text(int code) const;
  // The driver's version, "580.159.04"; "" if it does not say.
  std::string driver_text() const;

  const char* (*error_string)(int) = nullptr;
  int (*driver_version)(char* text, unsigned bytes) = nullptr;
  int (*handle_by_pci)(const char* bus_id, Handle*) = nullptr;
  int (*handle_by_uuid)(const char* uuid, Handle*) = nullptr;
  int (*is_mig_handle)(Handle, unsigned* yes) = nullptr;
  int (*parent_of_mig)(Handle, Handle* parent) = nullptr;
  int (*clock)(Handle, int which, unsigned* mhz) = nullptr;
  int (*max_clock)(Handle, int which, unsigned* mhz) = nullptr;
  int (*application_clock)(Handle, int which, unsigned* mhz) = nullptr;
  int (*clock_reasons)(Handle, unsigned long long* bits) = nullptr;
  int (*temperature)(Handle, int sensor, unsigned* celsius) = nullptr;
  int (*power)(Handle, unsigned* milliwatts) = nullptr;
  int (*power_limit)(Handle, unsigned* milliwatts) = nullptr;
  int (*total_energy)(Handle, unsigned long long* millijoules) = nullptr;
  int (*mig_mode)(Handle, unsigned* current, unsigned* pending) = nullptr;
  int (*ecc_mode)(Handle, int* current, int* pending) = nullptr;
  int (*lock_clocks)(Handle, unsigned min_mhz, unsigned max_mhz) = nullptr;
  int (*reset_clocks)(Handle) = nullptr;

 private:
  NvmlLibrary() = default;

  void* library_ = nullptr;
  bool initialised_ = false;
  int (*shutdown_)() = nullptr;
};

}  // namespace tunebook
