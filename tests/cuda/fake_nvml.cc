// A stand-in for libnvidia-ml, loaded through $TUNEBOOK_NVML: knows one GPU. What it answers is told by the environment:
//   FAKE_NVML_PCI, FAKE_NVML_UUID   how the GPU is found
//   FAKE_NVML_REASONS               clock reasons, a number
//   FAKE_NVML_MIG                   1: divided by MIG; the UUID then finds an instance
//   FAKE_NVML_DENY                  1: clocks cannot be locked, for want of permission
//   FAKE_NVML_LOG                   a file to which each change of clocks is appended
//   FAKE_NVML_BROKEN                1: nvmlInit fails
// Built with FAKE_NVML_MINIMAL it lacks everything that a driver may lack.

#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

constexpr int kNotFound = 6;
constexpr int kNoPermission = 4;
constexpr int kUnknown = 999;

int gpu = 0, instance = 0;

std::string setting(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

}  // namespace

extern "C" {

int nvmlInit_v2() { return setting("FAKE_NVML_BROKEN") == "1" ? kUnknown : 0; }
int nvmlShutdown() { return 0; }
const char* nvmlErrorString(int code) { return code == kNoPermission ? "Insufficient Permissions" : code == kNotFound ? "Not Found" : "Unknown Error"; }
int nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, void** handle) {
  *handle = &gpu;
  return setting("FAKE_NVML_PCI") == bus_id ? 0 : kNotFound;
}

#ifndef FAKE_NVML_MINIMAL

int nvmlDeviceGetHandleByUUID(const char* uuid, void** handle) {
  *handle = setting("FAKE_NVML_MIG") == "1" ? &instance : &gpu;
  return setting("FAKE_NVML_UUID") == uuid ? 0 : kNotFound;
}
int nvmlDeviceIsMigDeviceHandle(void* handle, unsigned* yes) {
  *yes = handle == &instance;
  return 0;
}
int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(void* handle, void** parent) {
  *parent = &gpu;
  return handle == &instance ? 0 : kNotFound;
}
int nvmlSystemGetDriverVersion(char* text, unsigned bytes) {
  std::snprintf(text, bytes, "999.1");
  return 0;
}
// An instance has no clocks of its own.
int nvmlDeviceGetClockInfo(void* handle, int which, unsigned* mhz) {
  *mhz = which == 1 ? 1500 : which == 2 ? 3200 : 0;
  return handle == &gpu ? 0 : kNotFound;
}
int nvmlDeviceGetMaxClockInfo(void* handle, int which, unsigned* mhz) {
  *mhz = which == 1 ? 1980 : 3201;
  return handle == &gpu ? 0 : kNotFound;
}
int nvmlDeviceGetApplicationsClock(void*, int, unsigned*) { return kNotFound; }
int nvmlDeviceGetCurrentClocksThrottleReasons(void* handle, unsigned long long* bits) {
  *bits = std::strtoull(setting("FAKE_NVML_REASONS").c_str(), nullptr, 0);
  return handle == &gpu ? 0 : kNotFound;
}
int nvmlDeviceGetTemperature(void*, int sensor, unsigned* celsius) {
  *celsius = 41;
  return sensor == 0 ? 0 : kNotFound;
}
int nvmlDeviceGetPowerUsage(void*, unsigned* milliwatts) {
  *milliwatts = 250500;
  return 0;
}
int nvmlDeviceGetEnforcedPowerLimit(void*, unsigned* milliwatts) {
  *milliwatts = 700000;
  return 0;
}
int nvmlDeviceGetTotalEnergyConsumption(void*, unsigned long long* millijoules) {
  *millijoules = 123456;
  return 0;
}
int nvmlDeviceGetMigMode(void*, unsigned* current, unsigned* pending) {
  *current = *pending = setting("FAKE_NVML_MIG") == "1";
  return 0;
}
int nvmlDeviceGetEccMode(void*, int* current, int* pending) {
  *current = *pending = 1;
  return 0;
}

static int note(const std::string& line) {
  if (setting("FAKE_NVML_DENY") == "1") return kNoPermission;
  std::FILE* file = std::fopen(setting("FAKE_NVML_LOG").c_str(), "a");
  if (file == nullptr) return kUnknown;
  std::fputs((line + "\n").c_str(), file);
  std::fclose(file);
  return 0;
}
int nvmlDeviceSetGpuLockedClocks(void* handle, unsigned least, unsigned most) {
  return handle == &gpu ? note("lock " + std::to_string(least) + " " + std::to_string(most)) : kNotFound;
}
int nvmlDeviceResetGpuLockedClocks(void* handle) { return handle == &gpu ? note("reset") : kNotFound; }

#endif

}  // extern "C"
