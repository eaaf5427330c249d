#include "session/device_listing.h"

#include <memory>

#include <fmt/format.h>

#include "session/event_loop.h"
#include "session/worker_process.h"

namespace tunebook {
namespace {

DeviceListing probe(const std::string& kind, const std::string& index) {
  DeviceListing listing;
  listing.id = kind == "cpu" ? "cpu" : kind + ":" + index;
  EventLoop loop;
  bool over = false;
  WorkerCallbacks callbacks;
  callbacks.on_hello = [&](const Hello& hello) {
    listing.hello = hello;
    listing.error = hello.error;
    over = true;
  };
  callbacks.on_lost = [&](const LostReason& reason) {
    listing.error = fmt::format("its worker {}{}{}", reason.describe(), reason.error_output.empty() ? "" : ": ", reason.error_output);
    over = true;
  };
  WorkerCommand command;
  command.program = worker_program(kind);
  command.role = WorkerRole::runner;
  command.device = listing.id;
  const WorkerProcess worker(loop, command, std::move(callbacks));
  loop.run_until([&] { return over; });
  return listing;
}

bool usable(const DeviceListing& listing) { return listing.error.empty() && listing.hello && listing.hello->device; }

}  // namespace

DeviceListing probe_device(const DeviceChoice& choice) {
  if (choice.kind == DeviceChoice::Kind::cpu) return probe("cpu", "0");
  if (choice.kind == DeviceChoice::Kind::cuda) return probe("cuda", choice.argument);
  DeviceListing cuda = probe("cuda", "0");
  return usable(cuda) ? cuda : probe("cpu", "0");
}

std::vector<DeviceListing> list_devices() {
  std::vector<DeviceListing> devices = {probe("cuda", "0")};
  if (usable(devices.front())) {
    // The first one knows how many there are.
    const int count = devices.front().hello->environment.value("device_count", 1);
    for (int i = 1; i < count; ++i) devices.push_back(probe("cuda", std::to_string(i)));
  }
  devices.push_back(probe("cpu", "0"));
  return devices;
}

}  // namespace tunebook
