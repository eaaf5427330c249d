#include "cuda/nvml_library.h"

#include <dlfcn.h>

#include <array>
#include <cstdlib>

#include <fmt/format.h>

namespace tunebook {
namespace {

template <typename Function>
void resolve(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
}

std::string library_path() {
  const char* chosen = std::getenv("TUNEBOOK_NVML");
  return chosen != nullptr && *chosen != '\0' ? chosen : "libnvidia-ml.so.1";
}

}  // namespace

std::shared_ptr<const NvmlLibrary> NvmlLibrary::open(std::string& why) {
  const std::string path = library_path();
  std::shared_ptr<NvmlLibrary> nvml(new NvmlLibrary);
  nvml->library_ = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (nvml->library_ == nullptr) {
    const char* reason = ::dlerror();
    why = fmt::format("no NVML: {}", reason != nullptr ? reason : path);
    return nullptr;
  }
  void* library = nvml->library_;
  int (*init)() = nullptr;
  resolve(library, "nvmlInit_v2", init);
  resolve(library, "nvmlShutdown", nvml->shutdown_);
  resolve(library, "nvmlErrorString", nvml->error_string);
  if (init == nullptr || nvml->shutdown_ == nullptr) {
    why = fmt::format("no NVML: {} lacks nvmlInit_v2 or nvmlShutdown", path);
    return nullptr;
  }
  if (const int code = init(); code != kSuccess) {
    why = fmt::format("NVML does not start: {}", nvml->error_text(code));
    return nullptr;
  }
  nvml->initialised_ = true;
  resolve(library, "nvmlSystemGetDriverVersion", nvml->driver_version);
  resolve(library, "nvmlDeviceGetHandleByPciBusId_v2", nvml->handle_by_pci);
  resolve(library, "nvmlDeviceGetHandleByUUID", nvml->handle_by_uuid);
  resolve(library, "nvmlDeviceIsMigDeviceHandle", nvml->is_mig_handle);
  resolve(library, "nvmlDeviceGetDeviceHandleFromMigDeviceHandle", nvml->parent_of_mig);
  resolve(library, "nvmlDeviceGetClockInfo", nvml->clock);
  resolve(library, "nvmlDeviceGetMaxClockInfo", nvml->max_clock);
  resolve(library, "nvmlDeviceGetApplicationsClock", nvml->application_clock);
  // Renamed in driver 535; the bits are the same.
  resolve(library, "nvmlDeviceGetCurrentClocksEventReasons", nvml->clock_reasons);
  if (nvml->clock_reasons == nullptr) resolve(library, "nvmlDeviceGetCurrentClocksThrottleReasons", nvml->clock_reasons);
  resolve(library, "nvmlDeviceGetTemperature", nvml->temperature);
  resolve(library, "nvmlDeviceGetPowerUsage", nvml->power);
  resolve(library, "nvmlDeviceGetEnforcedPowerLimit", nvml->power_limit);
  resolve(library, "nvmlDeviceGetTotalEnergyConsumption", nvml->total_energy);
  resolve(library, "nvmlDeviceGetMigMode", nvml->mig_mode);
  resolve(library, "nvmlDeviceGetEccMode", nvml->ecc_mode);
  resolve(library, "nvmlDeviceSetGpuLockedClocks", nvml->lock_clocks);
  resolve(library, "nvmlDeviceResetGpuLockedClocks", nvml->reset_clocks);
  return nvml;
}

NvmlLibrary::~NvmlLibrary() {
  if (initialised_) shutdown_();
  if (library_ != nullptr) ::dlclose(library_);
}

std::string NvmlLibrary::driver_text() const {
  std::array<char, 96> text{};
  if (driver_version == nullptr || driver_version(text.data(), text.size()) != kSuccess) return "";
  return text.data();
}

std::string NvmlLibrary::error_text(int code) const {
  const char* text = error_string != nullptr ? error_string(code) : nullptr;
  return text != nullptr ? fmt::format("{} (NVML error {})", text, code) : fmt::format("NVML error {}", code);
}

}  // namespace tunebook
