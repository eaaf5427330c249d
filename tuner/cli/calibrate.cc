#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/cli.h"
#include "cli/interrupt.h"
#include "cli/terminal.h"
#include "core/error.h"
#include "db/store.h"
#include "session/calibration.h"
#include "session/device_choice.h"

namespace tunebook::cli {
namespace {

struct Options {
  std::string device, book, cache = "cold";
  bool json = false;
};

std::string size_text(std::int64_t bytes) {
  if (bytes <= 0) return "";
  constexpr std::int64_t kGiB = std::int64_t{1} << 30, kMiB = std::int64_t{1} << 20, kKiB = std::int64_t{1} << 10;
  if (bytes % kGiB == 0) return fmt::format("{} GiB", bytes / kGiB);
  if (bytes % kMiB == 0) return fmt::format("{} MiB", bytes / kMiB);
  if (bytes % kKiB == 0) return fmt::format("{} KiB", bytes / kKiB);
  return fmt::format("{} bytes", bytes);
}

nlohmann::ordered_json to_json(const CalibrationResult& result) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Ceiling& ceiling : result.ceilings) {
    list.push_back({{"what", ceiling.what},
                    {"bytes", ceiling.bytes},
                    {"method", ceiling.method},
                    {"rate", ceiling.rate},
                    {"unit", ceiling.bytes > 0 ? "GB/s" : "GFLOP/s"},
                    {"ci", {ceiling.low, ceiling.high}}});
  }
  nlohmann::ordered_json json;
  json["device"] = result.hello.device->to_json();
  json["ceilings"] = std::move(list);
  return json;
}

void print_ceilings(const CalibrationResult& result, const Store& store) {
  TextTable table;
  table.header = {"ceiling", "size", "rate", "", "interval"};
  table.right = {false, true, true, false, false};
  std::string method;
  for (const Ceiling& ceiling : result.ceilings) {
    method = ceiling.method;
    table.rows.push_back({ceiling.what, size_text(ceiling.bytes), fmt::format("{:.1f}", ceiling.rate), ceiling.bytes > 0 ? "GB/s" : "GFLOP/s",
                          fmt::format("{:.1f} to {:.1f}", ceiling.low, ceiling.high)});
  }
  fmt::print("{} ({}), {}{}\n{}", result.id, result.hello.device->name, method,
             result.hello.device->kind == "cpu" ? " (real CPU times, no prediction for a GPU)" : "", terminal_text(table));
  fmt::print("bandwidth: bytes read and written together; fma: the ordinary units; mma: tensor cores by mma.sync, which on sm_90 reaches "
             "60-65 % of what wgmma does\nbook: {}\n",
             store.path().string());
}

int run_calibrate(const Options& options) {
  const Interrupt interrupt;
  const DeviceChoice device = DeviceChoice::parse(options.device);
  if (device.kind == DeviceChoice::Kind::replay) throw InputError("a recording cannot be calibrated: --device cuda:N or cpu");
  CalibrationOptions calibration;
  calibration.cache = options.cache == "warm" ? CacheMode::warm : CacheMode::cold;
  calibration.stop = [] { return Interrupt::requested(); };
  const CalibrationResult result = calibrate_device(device, calibration);
  if (result.stopped) {
    fmt::print(stderr, "interrupted; nothing was stored\n");
    return kFailed;
  }
  Store store(default_book_path(options.book));
  nlohmann::json environment = result.hello.environment.is_object() ? result.hello.environment : nlohmann::json::object();
  environment["driver"] = result.hello.driver;
  store.record_ceilings(*result.hello.device, environment, result.ceilings);
  if (options.json) {
    print_json(to_json(result));
  } else {
    print_ceilings(result, store);
  }
  return kDone;
}

}  // namespace

void add_calibrate(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("calibrate", "Measure a device's bandwidth and arithmetic ceilings, which summaries then refer to");
  add_device_option(*verb, options->device);
  verb->add_option("--cache", options->cache, "cold or warm L2 cache, as in tune: ceilings count for that mode")
      ->check(CLI::IsMember({"cold", "warm"}))->capture_default_str();
  add_book_option(*verb, options->book);
  add_json_option(*verb, options->json);
  verb->footer("Example:  tunebook calibrate --device cpu");
  verb->callback([options, &invocation] { invocation.exit_code = run_calibrate(*options); });
}

}  // namespace tunebook::cli
