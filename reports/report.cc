#include "reports/report.h"

namespace tunebook::reports {

SessionKind session_kind(std::string_view strategy) {
  for (const SessionKind kind : {SessionKind::retime, SessionKind::finalists}) {
    if (session_kind_name(kind) == strategy) return kind;
  }
  return SessionKind::search;
}

// As the strategies of such sessions are called in a book.
std::string_view session_kind_name(SessionKind kind) {
  switch (kind) {
    case SessionKind::search: return "search";
    case SessionKind::retime: return "retime";
    case SessionKind::finalists: return "finalists";
  }
  return "";
}

std::string_view session_kind_words(SessionKind kind) {
  switch (kind) {
    case SessionKind::search: return "";
    case SessionKind::retime: return "re-timed the standing winner; no search";
    case SessionKind::finalists: return "timed the finalists of a search that was cut short; no search of its own";
  }
  return "";
}

std::string_view session_kind_short(SessionKind kind) {
  switch (kind) {
    case SessionKind::search: return "";
    case SessionKind::retime: return "re-timed";
    case SessionKind::finalists: return "finalists";
  }
  return "";
}

bool counts_arithmetic(const Item& item) {
  const bool flops = item.flops && *item.flops > 0, bytes = item.bytes && *item.bytes > 0;
  if (item.ceiling) return !item.ceiling->bandwidth;
  return flops && (!bytes || *item.flops >= kArithmeticIntensity * *item.bytes);
}

std::string_view verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::regression: return "regression";
    case Verdict::improvement: return "improvement";
    case Verdict::unchanged: return "unchanged";
    case Verdict::inconclusive: return "inconclusive";
    case Verdict::only_base: return "only in base";
    case Verdict::only_candidate: return "only in candidate";
  }
  return "";
}

std::string_view fail_on_name(FailOn fail_on) {
  switch (fail_on) {
    case FailOn::never: return "never";
    case FailOn::regression: return "regression";
    case FailOn::inconclusive: return "inconclusive";
  }
  return "";
}

std::optional<FailOn> parse_fail_on(std::string_view name) {
  for (const FailOn fail_on : {FailOn::never, FailOn::regression, FailOn::inconclusive}) {
    if (fail_on_name(fail_on) == name) return fail_on;
  }
  return std::nullopt;
}

}  // namespace tunebook::reports
