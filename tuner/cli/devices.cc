#include <memory>

#include <fmt/format.h>

#include "cli/cli.h"
#include "cli/terminal.h"
#include "session/device_listing.h"

namespace tunebook::cli {
namespace {

struct Options {
  bool json = false;
};

nlohmann::ordered_json to_json(const std::vector<DeviceListing>& devices) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const DeviceListing& listing : devices) {
    nlohmann::ordered_json object;
    object["id"] = listing.id;
    object["usable"] = listing.error.empty();
    if (listing.hello && listing.hello->device) object["device"] = listing.hello->device->to_json();
    if (listing.hello) {
      object["driver"] = listing.hello->driver;
      object["environment"] = listing.hello->environment;
    }
    if (!listing.error.empty()) object["error"] = listing.error;
    list.push_back(object);
  }
  return {{"devices", list}};
}

int run_devices(const Options& options) {
  const std::vector<DeviceListing> devices = list_devices();
  if (options.json) {
    print_json(to_json(devices));
    return kDone;
  }
  TextTable table;
  table.header = {"device", "name", "arch", "SMs", "memory", "shared/block", "threads/block", "registers/block", "L2"};
  table.right = {false, false, false, true, true, true, true, true, true};
  for (const DeviceListing& listing : devices) {
    if (!listing.hello || !listing.hello->device) continue;
    const Device& device = *listing.hello->device;
    const DeviceLimits& limits = device.limits;
    table.rows.push_back({listing.id, device.name,
                          device.kind == "cpu" ? device.instruction_set : listing.hello->native_arch,
                          device.kind == "cpu" ? fmt::format("{} cores", device.sm_count) : std::to_string(device.sm_count),
                          device.memory_gib > 0 ? fmt::format("{} GiB", device.memory_gib) : "-",
                          fmt::format("{} KiB", limits.shared_bytes_per_block_optin / 1024),
                          std::to_string(limits.max_threads_per_block), std::to_string(limits.registers_per_block),
                          limits.l2_bytes > 0 ? fmt::format("{:.1f} MiB", static_cast<double>(limits.l2_bytes) / 1048576.0) : "-"});
  }
  fmt::print("{}", terminal_text(table));
  for (const DeviceListing& listing : devices) {
    if (!listing.error.empty()) fmt::print("{}: not usable: {}\n", listing.id, listing.error);
  }
  return kDone;
}

}  // namespace

void add_devices(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("devices", "List the devices that can run kernels, with their limits");
  add_json_option(*verb, options->json);
  verb->footer("Example:  tunebook devices\nA recording is a device too: --device replay:PATH");
  verb->callback([options, &invocation] { invocation.exit_code = run_devices(*options); });
}

}  // namespace tunebook::cli
