#include "tunebook/lookup.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/json_text.h"
#include "core/spec.h"
#include "db/book_reader.h"
#include "db/lookup_kernel.h"
#include "db/lookup_tiers.h"
#include "db/migrations.h"

namespace tunebook {
namespace {

std::shared_ptr<const KernelSpec> parse_brought_spec(const std::string& text) {
  if (text.empty()) {
    return nullptr;
  }
  const std::string where = "LookupOptions::spec_json";
  return std::make_shared<const KernelSpec>(KernelSpec::parse(parse_json_text(text, where), where));
}

// A question that no version of the kernel understands is a mistake of the caller, not "nothing known".
void check_understood(const std::vector<KernelVersion>& versions) {
  const bool understood = std::any_of(versions.begin(), versions.end(),
                                      [](const KernelVersion& version) { return version.problem.has_value(); });
  if (!versions.empty() && !understood) {
    throw std::invalid_argument(versions.front().complaint);
  }
}

}  // namespace

const char* tier_name(Tier tier) {
  switch (tier) {
    case Tier::exact:
      return "exact";
    case Tier::near:
      return "near";
    case Tier::same_architecture:
      return "same_architecture";
    case Tier::far:
      return "far";
    case Tier::preset_default:
      return "default";
  }
  return "unknown";
}

const char* stale_name(Stale stale) {
  switch (stale) {
    case Stale::no:
      return "no";
    case Stale::yes:
      return "yes";
    case Stale::unknown:
      break;
  }
  return "unknown";
}

const char* obstacle_name(Obstacle obstacle) {
  switch (obstacle) {
    case Obstacle::none:
      return "none";
    case Obstacle::not_needed:
      return "not needed";
    case Obstacle::constraint:
      return "constraint";
    case Obstacle::limit:
      return "limit";
    case Obstacle::architecture:
      return "architecture";
    case Obstacle::device_kind:
      return "device kind";
    case Obstacle::undeclared_value:
      return "undeclared value";
    case Obstacle::declaration:
      return "declaration";
    case Obstacle::categorical:
      return "categorical dimension";
    case Obstacle::other_device:
      return "other device";
    case Obstacle::other_objective:
      return "other objective";
    case Obstacle::other_method:
      return "other method";
    case Obstacle::unfinished:
      return "unfinished session";
    case Obstacle::unreadable:
      return "unreadable";
  }
  return "unknown";
}

struct Lookup::Impl {
  Impl(const std::string& book_path, const LookupOptions& options)
      : brought_spec(parse_brought_spec(options.spec_json)) {
    if (options.no_book) {
      empty_book = std::make_unique<sqlite::Database>("(no book)", sqlite::Database::Mode::in_memory);
      migrate(*empty_book, book_schema());
    } else {
      reader.emplace(book_path);
    }
  }

  std::optional<Answer> best(const Query& query) {
    const std::lock_guard lock(mutex);
    const auto ask = [&](sqlite::Database& book) -> std::optional<Answer> {
      const std::vector<KernelVersion> versions = kernel_versions(book, specs, query, brought_spec);
      check_understood(versions);
      for (const TierFunction tier : kTiers) {
        if (std::optional<Answer> answer = tier(book, Question{query, versions})) {
          return answer;
        }
      }
      return std::nullopt;
    };
    return reader ? reader->read(ask) : ask(*empty_book);
  }

  std::mutex mutex;  // one connection serves all threads
  std::shared_ptr<const KernelSpec> brought_spec;
  SpecCache specs;
  std::optional<BookReader> reader;              // empty with LookupOptions::no_book,
  std::unique_ptr<sqlite::Database> empty_book;  // which stands for the book then
};

Lookup::Lookup(const std::string& book_path, LookupOptions options) : impl_(std::make_shared<Impl>(book_path, options)) {}
Lookup::~Lookup() = default;
Lookup::Lookup(Lookup&&) noexcept = default;
Lookup& Lookup::operator=(Lookup&&) noexcept = default;

std::shared_ptr<const Answer> Lookup::best(const Query& query) const {
  if (query.kernel.empty()) {
    throw std::invalid_argument("Query::kernel is empty: name the kernel");
  }
  std::optional<Answer> answer = impl_->best(query);
  return answer ? std::make_shared<const Answer>(std::move(*answer)) : nullptr;
}

Explanation Lookup::explain(const Query& query, std::size_t most) const {
  Explanation explanation;
  explanation.answer = best(query);
  if (explanation.answer != nullptr && most > 0) {
    explanation.considered.push_back({*explanation.answer, true, Obstacle::none, ""});
  }
  return explanation;
}

}  // namespace tunebook
