#include "sweep_fixture.h"

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include <fmt/format.h>

#include "core/error.h"
#include "core/json_text.h"

namespace tunebook::testing {
namespace {

constexpr const char* kProduct = R"json({
  "tunebook": 1, "kernel": "product", "summary": "c = a * b", "source": "kernel.cu", "entry": "product", "instantiate": ["T", "BM", "BN"],
  "problem": {
    "m": {"default": 64}, "n": {"default": 64}, "k": {"default": 64},
    "dtype": {"values": ["f32", "f16"], "default": "f32"}, "math": {"values": ["ieee", "tensor"], "default": "ieee"}},
  "parameters": {"BM": {"values": [16, 32, 64]}, "BN": {"values": [16, 32]}},
  "constraints": ["math == 'ieee' or dtype == 'f16'", "BM >= BN"],
  "presets": {"default": {"BM": 16, "BN": 16}},
  "launch": {"block": ["BN"], "grid": ["ceil_div(m, BM) * ceil_div(n, BN)"], "shared_bytes": "0"},
  "arguments": [
    {"name": "c", "type": "T*", "count": "m * n", "access": "out"},
    {"name": "a", "type": "T*", "count": "m * k", "access": "in", "fill": "uniform(-1, 1)"},
    {"name": "b", "type": "T*", "count": "k * n", "access": "in", "fill": "uniform(-1, 1)"}],
  "reference": {"source": "reference.cu", "entry": "product_reference", "block": ["256"], "grid": ["ceil_div(m * n, 256)"]},
  "tolerance": {"f32": {"rel": "0", "abs": "1"}, "f16": {"rel": "0", "abs": "1"}}
})json";

constexpr const char* kAdd = R"json({
  "tunebook": 1, "kernel": "add", "summary": "c = a + b", "source": "kernel.cu", "entry": "add", "instantiate": ["T", "BLOCK"],
  "problem": {"n": {"default": 4096}, "dtype": {"values": ["f32", "f16"], "default": "f32"}},
  "parameters": {"BLOCK": {"values": [64, 128, 256]}},
  "presets": {"default": {"BLOCK": 256}},
  "launch": {"block": ["BLOCK"], "grid": ["ceil_div(n, BLOCK)"], "shared_bytes": "0"},
  "arguments": [
    {"name": "c", "type": "T*", "count": "n", "access": "out"},
    {"name": "a", "type": "T*", "count": "n", "access": "in", "fill": "uniform(-1, 1)"}],
  "reference": {"source": "reference.cu", "entry": "add_reference", "block": ["256"], "grid": ["ceil_div(n, 256)"]},
  "tolerance": {"f32": {"rel": "0", "abs": "1"}, "f16": {"rel": "0", "abs": "1"}}
})json";

std::string plain() {
  std::string text = kAdd;
  const auto replace = [&](const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    if (at == std::string::npos) throw std::logic_error(from);
    text.replace(at, from.size(), to);
  };
  replace("\"kernel\": \"add\"", "\"kernel\": \"plain\"");
  replace(", \"dtype\": {\"values\": [\"f32\", \"f16\"], \"default\": \"f32\"}", "");
  replace(", \"f16\": {\"rel\": \"0\", \"abs\": \"1\"}", "");
  return text;
}

}  // namespace

void SweepTest::SetUp() {
  std::string name = (std::filesystem::temp_directory_path() / "tunebook-sweep-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
  folder_ = std::filesystem::canonical(name);
  for (const auto& [kernel, spec] : {std::pair<std::string, std::string>{"product", kProduct}, {"add", kAdd}, {"plain", plain()}}) {
    write("templates/" + kernel + "/kernel.json", spec);
    write("templates/" + kernel + "/kernel.cu", "// " + kernel + "\n");
    write("templates/" + kernel + "/reference.cu", "// reference\n");
  }
}

void SweepTest::TearDown() { std::filesystem::remove_all(folder_); }

void SweepTest::write(const std::string& name, const std::string& text) const {
  const std::filesystem::path file = folder_ / name;
  std::filesystem::create_directories(file.parent_path());
  std::ofstream stream(file, std::ios::binary);
  stream << text;
  if (!stream.flush()) throw std::runtime_error("cannot write " + file.string());
}

SweepPlan SweepTest::plan(const std::string& text) const { return parse_plan(text, folder_ / "plan.json", {{path("templates")}}); }

std::vector<std::string> SweepTest::items(const std::string& text) const {
  std::vector<std::string> out;
  for (const SweepItem& item : plan(text).items) {
    std::string device = item.device;
    if (const std::size_t at = device.find(folder_.string() + "/"); at != std::string::npos) device.erase(at, folder_.string().size() + 1);
    out.push_back(fmt::format("{} {} {}", item.kernel, item.problem.display(), device));
  }
  return out;
}

std::vector<std::string> SweepTest::faults(const std::string& text) const {
  std::vector<std::string> lines;
  try {
    plan(text);
  } catch (const InputError& error) {
    std::istringstream stream(error.what());
    const std::string prefix = path("plan.json") + ": ";
    for (std::string line; std::getline(stream, line);) {
      if (line.starts_with(prefix)) line.erase(0, prefix.size());
      for (std::size_t at; (at = line.find(folder_.string() + "/")) != std::string::npos;) line.erase(at, folder_.string().size() + 1);
      lines.push_back(line);
    }
  }
  return lines;
}

std::string SweepTest::record(const std::string& name, const std::string& kernel, const std::string& problem) const {
  write(name + ".json", fmt::format(R"({{"kernel": "{}", "gpu": "Recorded GPU", "problem_size": {}, "parameters": {{"X": [1, 2, 4, 8, 16, 32], "Y": [1, 2, 3, 4]}}}})", kernel, problem));
  std::string rows = "X,Y,time_ms,status\n";
  for (const int x : {1, 2, 4, 8, 16, 32}) {
    for (const int y : {1, 2, 3, 4}) rows += fmt::format("{},{},{},ok\n", x, y, 0.1 * (y + 40.0 / x + x));
  }
  write(name + ".csv", rows);
  return path(name);
}

Problem product_problem(std::int64_t m, std::int64_t n, std::int64_t k, const std::string& dtype) {
  Problem problem;
  problem.set("m", m);
  problem.set("n", n);
  problem.set("k", k);
  problem.set("dtype", dtype);
  problem.set("math", std::string("ieee"));
  return problem;
}

Problem add_problem(std::int64_t n, const std::string& dtype) {
  Problem problem;
  problem.set("n", n);
  problem.set("dtype", dtype);
  return problem;
}

SweepItem item(const std::string& kernel, const Problem& problem, const std::string& device) {
  SweepItem item;
  item.kernel = kernel;
  item.problem = problem;
  item.device = device;
  return item;
}

Device gpu(const std::string& name) {
  Device device;
  device.kind = "cuda";
  device.name = name;
  device.compute_capability = 90;
  device.sm_count = 132;
  return device;
}

SessionSummary session(const SweepItem& of, double age) {
  static int number = 0;
  SessionSummary session;
  session.id = fmt::format("{:032x}", ++number);
  session.kernel = of.kernel;
  session.kernel_hash = "hash-1";
  session.device = gpu();
  session.device_key = session.device.key();
  session.problem = of.problem;
  session.toolchain = "nvrtc 13.0; driver 580.1";
  session.method = "cold/2";
  session.objective = "time";
  session.strategy = of.settings.strategy;
  session.budget = of.settings.budget;
  session.seed = of.settings.seed;
  session.where = of.settings.where;
  session.finished = kNow - age;
  session.wall_seconds = 40;
  session.started = *session.finished - session.wall_seconds;
  session.trials = 200;
  session.winner = R"({"BM":32})";
  session.winner_us = 50;
  session.default_us = 100;
  return session;
}

}  // namespace tunebook::testing
