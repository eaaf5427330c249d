#include "session/calibration.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "core/error.h"
#include "session/device_listing.h"
#include "session/event_loop.h"
#include "session/worker_process.h"

namespace tunebook {
namespace {

constexpr std::int64_t kSmallest = std::int64_t{64} << 10;
constexpr std::int64_t kLargest = std::int64_t{4} << 30;
constexpr std::int64_t kLargestOnCpu = std::int64_t{256} << 20;
constexpr std::int64_t kStep = 4;
// One ceiling takes a second at most; a device that is busy with other programs' work takes longer.
constexpr double kStepSeconds = 60;
constexpr double kStopPollSeconds = 0.2;
constexpr double kEndSeconds = 5;  // for the process to end

}  // namespace

std::vector<std::int64_t> calibration_sizes(const Device& device) {
  std::int64_t largest = device.kind == "cpu" ? kLargestOnCpu : kLargest;
  if (device.memory_gib > 0) largest = std::min(largest, (device.memory_gib << 30) / 4);
  std::vector<std::int64_t> sizes;
  for (std::int64_t bytes = kSmallest; bytes <= largest; bytes *= kStep) sizes.push_back(bytes);
  return sizes;
}

CalibrationResult calibrate_device(const DeviceChoice& choice, const CalibrationOptions& options) {
  const DeviceListing listing = probe_device(choice);
  if (!listing.error.empty() || !listing.hello || !listing.hello->device) {
    throw InputError(fmt::format("device {} cannot be used: {}", listing.id, listing.error.empty() ? "it did not say what it is" : listing.error));
  }
  CalibrationResult result;
  result.id = listing.id;
  EventLoop loop;
  std::optional<CalibrateReply> answer;
  std::string error;
  bool lost = false;
  std::unique_ptr<WorkerProcess> worker;
  WorkerCallbacks callbacks;
  callbacks.on_hello = [&](const Hello& hello) {
    result.hello = hello;
    if (!hello.error.empty() || !hello.device) {
      error = hello.error.empty() ? "it did not say what it is" : hello.error;
      return;
    }
    CalibrateRequest request;
    request.id = 1;
    request.cache = options.cache;
    request.bytes = options.bytes.empty() ? calibration_sizes(*hello.device) : options.bytes;
    worker->send(request);
    worker->arm_deadline(kStepSeconds);
  };
  callbacks.on_reply = [&](Reply reply) {
    if (auto* calibrated = std::get_if<CalibrateReply>(&reply)) answer = std::move(*calibrated);
  };
  callbacks.on_lost = [&](const LostReason& reason) {
    lost = true;
    error = fmt::format("its worker {}{}{}", reason.describe(), reason.error_output.empty() ? "" : ": ", reason.error_output);
  };
  WorkerCommand command;
  command.program = worker_program(result.id == "cpu" ? "cpu" : "cuda");
  command.role = WorkerRole::runner;
  command.device = result.id;
  worker = std::make_unique<WorkerProcess>(loop, command, std::move(callbacks));
  const auto over = [&] { return answer.has_value() || !error.empty(); };
  while (!over() && !result.stopped) {
    loop.run_until(over, kStopPollSeconds);
    result.stopped = !over() && options.stop && options.stop();
  }
  if (!result.stopped && answer && answer->outcome != Outcome::ok) error = answer->message;
  if (!error.empty()) throw EnvironmentError(fmt::format("device {}: calibration failed: {}", result.id, error));
  if (answer) result.ceilings = std::move(answer->ceilings);
  bool gone = lost;
  if (!gone) worker->shut_down([&] { gone = true; });
  loop.run_until([&] { return gone; }, kEndSeconds);
  return result;
}

}  // namespace tunebook
