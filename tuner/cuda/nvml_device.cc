#include "cuda/nvml_device.h"

#include <array>
#include <utility>

#include <fmt/format.h>

namespace tunebook {
namespace {

struct ReasonName {
  std::uint64_t bit;
  const char* name;
};
// nvmlClocksEventReason* of the NVML API reference. "Hardware slowdown" comes with the thermal or brake bit that explains it.
constexpr std::array<ReasonName, 5> kThrottleReasons = {{{0x04, "power cap"},
                                                         {0x20, "thermal"},
                                                         {0x40, "thermal (hardware)"},
                                                         {0x80, "power brake"},
                                                         {0x08, "hardware slowdown"}}};

// nvmlReturn_t NVML_ERROR_NO_PERMISSION.
constexpr int kNoPermission = 4;

std::optional<double> ask(int (*function)(NvmlLibrary::Handle, unsigned*), NvmlLibrary::Handle handle) {
  unsigned value = 0;
  if (function == nullptr || function(handle, &value) != NvmlLibrary::kSuccess) return std::nullopt;
  return value;
}

std::optional<double> ask(int (*function)(NvmlLibrary::Handle, int, unsigned*), NvmlLibrary::Handle handle, int which) {
  unsigned value = 0;
  if (function == nullptr || function(handle, which, &value) != NvmlLibrary::kSuccess) return std::nullopt;
  return value;
}

// Whether a mode (MIG: unsigned, ECC: int) is on.
template <typename Number>
std::optional<bool> mode(int (*function)(NvmlLibrary::Handle, Number*, Number*), NvmlLibrary::Handle handle) {
  Number current = 0, pending = 0;
  if (function == nullptr || function(handle, &current, &pending) != NvmlLibrary::kSuccess) return std::nullopt;
  return current != 0;
}

}  // namespace

std::uint64_t throttle_bits(std::uint64_t clock_reasons) {
  std::uint64_t bits = 0;
  for (const ReasonName& reason : kThrottleReasons) bits |= clock_reasons & reason.bit;
  return bits;
}

std::string throttle_text(std::uint64_t clock_reasons) {
  std::string text;
  for (const ReasonName& reason : kThrottleReasons) {
    if ((clock_reasons & reason.bit) != 0) text += (text.empty() ? "" : ", ") + std::string(reason.name);
  }
  return text;
}

NvmlDevice::NvmlDevice(std::shared_ptr<const NvmlLibrary> nvml, NvmlLibrary::Handle handle) : nvml_(std::move(nvml)), handle_(handle) {
  mig_ = mode(nvml_->mig_mode, handle_).value_or(false);
}

std::unique_ptr<NvmlDevice> NvmlDevice::find(std::shared_ptr<const NvmlLibrary> nvml, const std::string& pci_bus_id,
                                             const std::string& uuid, std::string& why) {
  if (!nvml) return nullptr;
  NvmlLibrary::Handle handle = nullptr;
  int code = 0;
  bool found = false;
  if (nvml->handle_by_pci != nullptr && !pci_bus_id.empty()) {
    code = nvml->handle_by_pci(pci_bus_id.c_str(), &handle);
    found = code == NvmlLibrary::kSuccess;
  }
  if (!found && nvml->handle_by_uuid != nullptr && !uuid.empty()) {
    code = nvml->handle_by_uuid(uuid.c_str(), &handle);
    found = code == NvmlLibrary::kSuccess;
  }
  if (!found) {
    why = fmt::format("NVML does not know the GPU at {}: {}", pci_bus_id.empty() ? uuid : pci_bus_id,
                      code != 0 ? nvml->error_text(code) : "it cannot look for it");
    return nullptr;
  }
  unsigned instance = 0;
  if (nvml->is_mig_handle != nullptr && nvml->parent_of_mig != nullptr &&
      nvml->is_mig_handle(handle, &instance) == NvmlLibrary::kSuccess && instance != 0) {
    NvmlLibrary::Handle parent = nullptr;
    if (nvml->parent_of_mig(handle, &parent) == NvmlLibrary::kSuccess) handle = parent;
  }
  return std::unique_ptr<NvmlDevice>(new NvmlDevice(std::move(nvml), handle));
}

NvmlReading NvmlDevice::read() const {
  NvmlReading reading;
  // What changes fastest first.
  unsigned long long bits = 0;
  if (nvml_->clock_reasons != nullptr && nvml_->clock_reasons(handle_, &bits) == NvmlLibrary::kSuccess) reading.clock_reasons = bits;
  reading.sm_clock_mhz = ask(nvml_->clock, handle_, NvmlLibrary::kSmClock);
  reading.memory_clock_mhz = ask(nvml_->clock, handle_, NvmlLibrary::kMemoryClock);
  if (const auto milliwatts = ask(nvml_->power, handle_)) reading.power_w = *milliwatts / 1000.0;
  reading.temperature_c = ask(nvml_->temperature, handle_, NvmlLibrary::kGpuTemperature);
  return reading;
}

std::optional<std::uint64_t> NvmlDevice::total_energy_mj() const {
  unsigned long long value = 0;
  if (mig_ || nvml_->total_energy == nullptr || nvml_->total_energy(handle_, &value) != NvmlLibrary::kSuccess) return std::nullopt;
  return value;
}

nlohmann::json NvmlDevice::environment() const {
  nlohmann::json json = nlohmann::json::object();
  const auto put = [&](const char* key, std::optional<double> value) {
    if (value) json[key] = *value;
  };
  put("max_sm_clock_mhz", ask(nvml_->max_clock, handle_, NvmlLibrary::kSmClock));
  put("max_memory_clock_mhz", ask(nvml_->max_clock, handle_, NvmlLibrary::kMemoryClock));
  put("application_sm_clock_mhz", ask(nvml_->application_clock, handle_, NvmlLibrary::kSmClock));
  put("application_memory_clock_mhz", ask(nvml_->application_clock, handle_, NvmlLibrary::kMemoryClock));
  if (const auto milliwatts = ask(nvml_->power_limit, handle_)) json["power_limit_w"] = *milliwatts / 1000.0;
  if (const auto ecc = mode(nvml_->ecc_mode, handle_)) json["ecc"] = *ecc;
  if (nvml_->mig_mode != nullptr) json["mig"] = mig_;
  json["energy_counter"] = total_energy_mj().has_value();
  if (const std::string driver = nvml_->driver_text(); !driver.empty()) json["driver"] = driver;
  return json;
}

std::string NvmlDevice::lock_clocks(int mhz) const {
  if (nvml_->lock_clocks == nullptr || nvml_->reset_clocks == nullptr) return "this driver cannot lock clocks";
  const auto clock = static_cast<unsigned>(mhz);
  const int code = nvml_->lock_clocks(handle_, clock, clock);
  if (code == NvmlLibrary::kSuccess) return "";
  if (code == kNoPermission) {
    return "locking clocks needs administrator rights on this machine (as for nvidia-smi --lock-gpu-clocks): run as root, or leave out "
           "--lock-clocks";
  }
  const auto most = ask(nvml_->max_clock, handle_, NvmlLibrary::kSmClock);
  return fmt::format("the SM clock cannot be locked at {} MHz: {}{}", mhz, nvml_->error_text(code),
                     most ? fmt::format("; the GPU's largest is {:.0f} MHz", *most) : "");
}

std::string NvmlDevice::reset_clocks() const {
  if (nvml_->reset_clocks == nullptr) return "this driver cannot reset clocks";
  const int code = nvml_->reset_clocks(handle_);
  return code == NvmlLibrary::kSuccess ? "" : nvml_->error_text(code);
}

}  // namespace tunebook
