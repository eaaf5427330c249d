#include "sweep/plan_keys.h"

#include <algorithm>
#include <cassert>

namespace tunebook {
namespace {

std::vector<SpecKey> with_settings(std::vector<SpecKey> keys) {
  keys.insert(keys.end(), settings_keys().begin(), settings_keys().end());
  return keys;
}

}  // namespace

const std::vector<SpecKey>& settings_keys() {
  static const std::vector<SpecKey> keys = {
      {"devices"}, {"objective"}, {"cache"}, {"strategy"}, {"seed"}, {"budget"}, {"where"}, {"baseline"}, {"from_book"}, {"sanitize"},
      {"finalists"}, {"finalist_processes"}, {"lock_clocks_mhz"}, {"run_timeout_s"}, {"compile_timeout_s"}, {"priority"}, {"freshness"}};
  return keys;
}

const std::vector<SpecObject>& plan_objects() {
  static const std::vector<SpecObject> objects = {
      {"plan", "a plan",
       with_settings(
           {{"tunebook", true}, {"name"}, {"summary"}, {"time"}, {"until"}, {"sessions", true}})},
      {"sessions", "an entry of \"sessions\"",
       with_settings(
           {{"kernels", true}, {"shapes"}, {"cover"}, {"when"}, {"weights"}, {"target_loss"},
            {"most_shapes"}, {"types"}})},
      {"freshness", "a freshness rule", {{"retune_after_days"}, {"retime"}}},
      {"range", "a range", {{"from", true}, {"to", true}, {"step"}, {"factor"}}},
      {"sizes", "a range of a region", {{"from", true}, {"to", true}}},
      {"misses", "recorded misses", {{"from_misses", true}}},
      {"file", "a file of shapes", {{"from_file", true}}},
  };
  return objects;
}

const SpecObject& plan_object(std::string_view name) {
  const auto found = std::find_if(plan_objects().begin(), plan_objects().end(), [&](const SpecObject& object) { return object.name == name; });
  assert(found != plan_objects().end());
  return *found;
}

}  // namespace tunebook
