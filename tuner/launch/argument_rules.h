#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/problem.h"
#include "core/spec.h"
#include "tunebook/launch.h"

namespace tunebook {

// What a launch of one kernel on one problem must be given, from the `arguments` of its declaration.
class ArgumentRules {
 public:
  ArgumentRules(const KernelSpec& spec, const Problem& problem);

  // Throws std::invalid_argument naming the argument. A few comparisons if all is well.
  void check(const ArgumentShape* shapes, std::size_t count) const {
    if (count == rules_.size()) {
      std::size_t i = 0;
      while (i < count && accepts(rules_[i], shapes[i])) ++i;
      if (i == count) return;
    }
    refuse(shapes, count);
  }

 private:
  struct Rule {
    ArgumentShape::Kind kind = ArgumentShape::Kind::integer;
    bool any_kind = false;  // f16 and bf16: two bytes of whatever type the application has
    bool pointer = false;
    bool written = false;
    std::uint32_t bytes = 0;
  };

  static bool accepts(const Rule& rule, const ArgumentShape& shape) {
    if (rule.pointer != shape.pointer || (rule.written && shape.read_only)) return false;
    if (rule.pointer && shape.bytes == 0) return true;  // void*
    return rule.bytes == shape.bytes && (rule.any_kind || rule.kind == shape.kind);
  }
  [[noreturn]] void refuse(const ArgumentShape* shapes, std::size_t count) const;

  std::string kernel_;
  std::vector<Rule> rules_;
  std::vector<std::string> names_, types_;  // for messages
};

}  // namespace tunebook
