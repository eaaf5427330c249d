#include <cstddef>
#include <memory>
#include <stdexcept>
#include <utility>

#include "core/error.h"
#include "launch/launcher_core.h"
#include "tunebook/launch.h"

namespace tunebook {
namespace {

std::shared_ptr<LauncherCore> open_core(LaunchOptions options) {
  auto device = options.architecture.empty() ? open_launch_device(options.device)
                                             : offline_launch_device(options.architecture, options.offline_device);
  return std::make_shared<LauncherCore>(std::move(options), std::move(device), nvrtc_in_process());
}

LauncherCore& opened(const std::shared_ptr<LauncherCore>& core) {
  if (core == nullptr) throw std::invalid_argument("this Launcher was moved from");
  return *core;
}

}  // namespace

Launcher::Launcher(LaunchOptions options) : core_(open_core(std::move(options))) {}
Launcher::~Launcher() = default;
Launcher::Launcher(Launcher&&) noexcept = default;
Launcher& Launcher::operator=(Launcher&&) noexcept = default;

Kernel Launcher::get(std::string_view kernel, const LookupValues& problem) { return Kernel(opened(core_).get(kernel, problem)); }
Cubin Launcher::cubin(std::string_view kernel, const LookupValues& problem) { return opened(core_).cubin(kernel, problem); }

void Kernel::launch(CUstream_st* stream, void** addresses, const ArgumentShape* shapes, std::size_t count) const {
  slot_->launch(stream, addresses, shapes, count);
}
std::shared_ptr<const CompiledKernel> Kernel::state() const { return slot_->current()->about; }
std::string Kernel::note() const { return state()->note; }
bool Kernel::pending() const { return slot_->current()->about->pending; }
void Kernel::wait() const { slot_->wait(); }

}  // namespace tunebook
