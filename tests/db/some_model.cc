#include "some_model.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "book_fixture.h"
#include "core/hash.h"

namespace tunebook::testing {

KernelSpec fixture_spec() {
  return KernelSpec::parse(nlohmann::ordered_json::parse(kSpecText), "kernel.json");
}

TimeModel some_model() {
  using Node = TimeModel::Node;
  TimeModel model;
  model.dtype = "f32";
  model.method = "cold/1";
  model.features = {"m", "BM"};
  model.roots = {0, 7};
  model.nodes = {
      Node{1, 24, 1},              // BM < 24
      Node{Node::kLeaf, 0, 1000},  // BM 16
      Node{0, 512, 3},             // m < 512
      Node{1, 48, 5},              // small m: BM < 48
      Node{Node::kLeaf, 0, 100},   // large m
      Node{Node::kLeaf, 0, 2000},
      Node{Node::kLeaf, 0, 3000},
      Node{0, 512, 8},  // the second tree: large m and BM 64 only
      Node{Node::kLeaf, 0, 0},
      Node{1, 48, 10},
      Node{Node::kLeaf, 0, 0},
      Node{Node::kLeaf, 0, -50},
  };
  model.base = 5;
  model.candidates = {{{0, 0}, 40, 2048, 2}, {{1, 0}, 48, 4096, 2}, {{2, 0}, -1, -1, 1}};
  const auto size = [](std::int64_t value) { return Value(value); };
  model.anchors = {{{size(64), size(64), size(64), Value(std::string("f32"))}, 10, 0},
                   {{size(1024), size(1024), size(1024), Value(std::string("f32"))}, 500, 2}};
  model.loss = {{1.0, 0.02, 0.05, 0.04, 8},
                {std::numeric_limits<double>::infinity(), 0.06, 0.15, 0.25, 12}};
  model.trials = 120;
  model.learned_utc = "2026-11-30T12:00:00.000000Z";
  return model;
}

void put_model_bytes(const std::string& path, const TimeModel& model, const std::string& body,
                     std::int64_t kernel_row, std::int64_t device_row) {
  std::string hex;
  for (const char c : body) hex += fmt::format("{:02x}", static_cast<unsigned char>(c));
  const std::string error =
      run_sql(path, fmt::format("INSERT OR REPLACE INTO model (kernel_id, device_id, dtype, "
                                "method, format, content_hash, body, trials, "
                                "problems, learned_from, learned_utc) VALUES ({}, {}, '{}', '{}', "
                                "{}, X'{}', X'{}', {}, {}, 'test', '{}')",
                                kernel_row, device_row, model.dtype, model.method,
                                TimeModel::kFormat, content_hash(body), hex, model.trials,
                                model.anchors.size(), model.learned_utc));
  ASSERT_EQ(error, "");
}

void put_model(const std::string& path, const TimeModel& model, std::int64_t kernel_row,
               std::int64_t device_row) {
  put_model_bytes(path, model, model.encode(), kernel_row, device_row);
}

}  // namespace tunebook::testing
