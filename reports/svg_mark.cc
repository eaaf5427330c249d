#include "reports/svg_mark.h"

#include <fmt/format.h>

#include "reports/svg.h"

namespace tunebook::reports::page {
namespace {

struct Look {
  std::string_view classes;
  std::string_view path;  // relative to the mark's place; empty: a circle
  double radius = 0;
};

Look look_of(MarkKind kind) {
  switch (kind) {
    case MarkKind::timed: return {"dot", "", 2.4};
    case MarkKind::abandoned: return {"hollow", "", 2.2};
    case MarkKind::best: return {"ring", "", 5};
    case MarkKind::compile: return {"solid", "m0-4.5 4.5 8.5h-9z"};
    case MarkKind::resources: return {"cross", "m-3.5-3.5h7v7h-7z"};
    case MarkKind::launch: return {"solid", "m-4-4h8v8h-8z"};
    case MarkKind::fault: return {"solid", "m0-5 5 5-5 5-5-5z"};
    case MarkKind::wrong: return {"cross", "m-4-4 8 8m0-8-8 8"};
    case MarkKind::timeout: return {"cross", "m-4.5 0h9m-4.5-4.5v9"};
    case MarkKind::lost: return {"cross", "m0-4.5 4.5 4.5-4.5 4.5-4.5-4.5z"};
    case MarkKind::invalid: return {"cross", "", 3.5};
  }
  return {};
}

}  // namespace

MarkKind mark_kind(Outcome outcome) {
  switch (outcome) {
    case Outcome::ok: return MarkKind::timed;
    case Outcome::abandoned: return MarkKind::abandoned;
    case Outcome::invalid: return MarkKind::invalid;
    case Outcome::no_resources:
    case Outcome::out_of_memory: return MarkKind::resources;
    case Outcome::compile_error: return MarkKind::compile;
    case Outcome::launch_error: return MarkKind::launch;
    case Outcome::compile_timeout:
    case Outcome::run_timeout: return MarkKind::timeout;
    case Outcome::fault:
    case Outcome::divergent_barrier: return MarkKind::fault;
    case Outcome::wrong_result:
    case Outcome::nondeterministic: return MarkKind::wrong;
    case Outcome::worker_lost: return MarkKind::lost;
  }
  return MarkKind::invalid;
}

std::string_view mark_name(MarkKind kind) {
  switch (kind) {
    case MarkKind::timed: return "timed";
    case MarkKind::abandoned: return "abandoned as slower";
    case MarkKind::best: return "the best";
    case MarkKind::compile: return "does not compile";
    case MarkKind::resources: return "needs too much";
    case MarkKind::launch: return "launch error";
    case MarkKind::fault: return "fault";
    case MarkKind::wrong: return "wrong result";
    case MarkKind::timeout: return "timeout";
    case MarkKind::lost: return "worker lost";
    case MarkKind::invalid: return "invalid";
  }
  return "";
}

std::string mark_svg(MarkKind kind, double x, double y) {
  const Look look = look_of(kind);
  if (look.path.empty()) {
    return fmt::format("<circle class=\"{}\" cx=\"{}\" cy=\"{}\" r=\"{}\"/>", look.classes, coordinate(x), coordinate(y), coordinate(look.radius));
  }
  return fmt::format("<path class=\"{}\" d=\"M{} {}{}\"/>", look.classes, coordinate(x), coordinate(y), look.path);
}

}  // namespace tunebook::reports::page
