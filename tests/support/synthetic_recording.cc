#include "support/synthetic_recording.h"

#include <array>
#include <fstream>
#include <stdexcept>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/random.h"

namespace tunebook::test {
namespace {

struct Axis {
  std::string name;
  std::vector<std::int64_t> values;
  std::vector<double> factors;  // of the time, one per value
};

// Enough axes of small domains for `size` configurations, as a real kernel has.
std::vector<Axis> make_axes(std::uint64_t size, Random& random) {
  static constexpr std::array<std::string_view, 12> kNames = {"BLOCK_X", "BLOCK_Y", "TILE_X", "TILE_Y", "UNROLL", "PADDING",
                                                              "VECTOR",  "STAGES",  "SPLIT",  "ORDER",  "CACHE",  "LAYOUT"};
  static constexpr std::array<std::size_t, 12> kDomains = {8, 6, 8, 8, 5, 2, 4, 3, 4, 3, 2, 2};
  std::vector<Axis> axes;
  std::uint64_t product = 1;
  for (std::size_t i = 0; product < size || axes.size() < 2; ++i) {
    Axis axis;
    axis.name = i < kNames.size() ? std::string(kNames[i]) : fmt::format("EXTRA_{}", i);
    const std::size_t domain = kDomains[i % kDomains.size()];
    for (std::size_t v = 0; v < domain; ++v) {
      axis.values.push_back(std::int64_t{1} << v);
      axis.factors.push_back(1.0 + random.uniform() * random.uniform() * 1.5);
    }
    product *= domain;
    axes.push_back(std::move(axis));
  }
  return axes;
}

// A number in [0, 1) for a pair of values, independent of everything else.
double pair_effect(std::uint64_t seed, std::size_t axis, std::size_t x, std::size_t y) {
  return Random(seed ^ (axis * 0x10001 + x * 0x101 + y + 1)).uniform();
}

}  // namespace

std::filesystem::path write_synthetic_recording(const std::filesystem::path& folder, const std::string& name,
                                                std::uint64_t seed, std::uint64_t size) {
  if (size == 0) throw std::logic_error("write_synthetic_recording: size 0");
  Random random(seed);
  const std::vector<Axis> axes = make_axes(size, random);
  std::uint64_t cartesian = 1;
  for (const Axis& axis : axes) cartesian *= axis.values.size();

  struct Row {
    std::vector<std::size_t> indices;
    double time_ms = 0;
    std::string_view status = "ok";
  };
  std::vector<Row> rows;
  // Configuration n of the Cartesian product is recorded where n * size / cartesian grows: spread evenly, `size` in all.
  for (std::uint64_t n = 0; n < cartesian; ++n) {
    if (static_cast<double>(rows.size()) * static_cast<double>(cartesian) > static_cast<double>(n) * static_cast<double>(size)) {
      continue;
    }
    if (rows.size() == size) break;
    Row row;
    row.indices.resize(axes.size());
    std::uint64_t rest = n;
    for (std::size_t i = axes.size(); i-- > 0;) {
      row.indices[i] = static_cast<std::size_t>(rest % axes[i].values.size());
      rest /= axes[i].values.size();
    }
    double time_ms = 0.25;
    for (std::size_t i = 0; i < axes.size(); ++i) time_ms *= axes[i].factors[row.indices[i]];
    for (std::size_t i = 0; i + 1 < axes.size(); ++i) {
      time_ms *= 1.0 + 0.4 * pair_effect(seed, i, row.indices[i], row.indices[i + 1]);
    }
    row.time_ms = time_ms * (1.0 + 0.02 * random.uniform());
    // The corner: the largest block with the largest tiles does not compile.
    const bool corner = row.indices[0] + 1 == axes[0].values.size() && row.indices[1] + 2 >= axes[1].values.size();
    const double fate = random.uniform();
    if (corner && fate < 0.6) {
      row.status = "compile_error";
    } else if (fate < 0.018) {
      row.status = "launch_error";
    } else if (fate < 0.024) {
      row.status = "wrong_result";
    }
    rows.push_back(std::move(row));
  }

  std::size_t best = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].time_ms < rows[best].time_ms) best = i;
  }
  rows[best].status = "ok";

  nlohmann::ordered_json json;
  json["name"] = name;
  json["kernel"] = "synthetic";
  json["gpu"] = "Synthetic GPU";
  json["problem_size"] = {4096, 4096};
  for (const Axis& axis : axes) json["parameters"][axis.name] = axis.values;
  json["constraints"] = nullptr;
  json["rows"] = rows.size();
  json["best_ms"] = rows[best].time_ms;
  std::filesystem::create_directories(folder);
  std::ofstream(folder / (name + ".json")) << json.dump(1) << '\n';

  std::ofstream csv(folder / (name + ".csv"));
  for (const Axis& axis : axes) csv << axis.name << ',';
  csv << "time_ms,status,std_ms,cost_ms\n";
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < axes.size(); ++i) line += fmt::format("{},", axes[i].values[row.indices[i]]);
    if (row.status == "ok") line += fmt::format("{:.9g}", row.time_ms);
    csv << fmt::format("{},{},,{:.6g}\n", line, row.status, 400 + row.time_ms * 32);
  }
  csv.close();
  if (!csv) throw std::runtime_error("write_synthetic_recording: cannot write to " + folder.string());
  return folder / name;
}

}  // namespace tunebook::test
