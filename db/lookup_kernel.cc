#include "db/lookup_kernel.h"

#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "core/hash.h"
#include "db/encoding.h"

namespace tunebook {
namespace {

Problem asked_values(const Query& query) {
  Problem problem;
  for (const auto& [name, value] : query.problem) {
    problem.set(name, value);
  }
  return problem;
}

// The asked problem in the declared order, what is missing of the categorical dimensions taken from their defaults.
Problem complete_problem(const KernelSpec& spec, const Problem& asked) {
  Problem problem;
  for (const Dimension& dimension : spec.dimensions) {
    if (const Value* value = asked.find(dimension.name)) {
      problem.set(dimension.name, *value);
    } else if (dimension.categorical) {
      problem.set(dimension.name, dimension.default_value);
    } else {
      throw InputError(fmt::format("kernel {}: the problem lacks the size {}", spec.name, dimension.name));
    }
  }
  for (const auto& [name, value] : asked.items()) {
    if (spec.find_dimension(name) == nullptr) {
      throw InputError(fmt::format("kernel {}: it has no problem dimension {}", spec.name, name));
    }
  }
  spec.check_problem(problem);
  return problem;
}

void fit_problem(KernelVersion& version, const Problem& asked) {
  if (version.spec == nullptr) {
    version.problem = asked;
    return;
  }
  try {
    version.problem = complete_problem(*version.spec, asked);
  } catch (const InputError& error) {
    version.complaint = error.what();
  }
}

}  // namespace

std::shared_ptr<const KernelSpec> SpecCache::parse(const std::string& text, const std::string& where) {
  const std::string hash = content_hash(text);
  if (const auto known = specs_.find(hash); known != specs_.end()) {
    return known->second;
  }
  std::shared_ptr<const KernelSpec> spec;
  const auto json = nlohmann::ordered_json::parse(text, nullptr, false);
  if (!json.is_discarded()) {
    try {
      spec = std::make_shared<const KernelSpec>(KernelSpec::parse(json, where));
    } catch (const InputError&) {
      // A declaration of a newer Tunebook or of a recording: its winners can still be exact answers.
    }
  }
  return specs_.emplace(hash, std::move(spec)).first->second;
}

std::vector<KernelVersion> kernel_versions(sqlite::Database& book, SpecCache& specs, const Query& query,
                                           const std::shared_ptr<const KernelSpec>& brought) {
  const Problem asked = asked_values(query);
  std::vector<KernelVersion> versions;
  sqlite::Statement select(book, "SELECT id, hash, spec FROM kernel WHERE name = ?1 ORDER BY hash = ?2 DESC, id DESC");
  sqlite::Statement::Run row = select.run(query.kernel, query.kernel_hash);
  while (row.next()) {
    KernelVersion version;
    version.row = row.integer(0);
    version.hash = row.text(1);
    const std::string text = row.text(2);
    version.spec = specs.parse(text, fmt::format("kernel {} in book {}", query.kernel, book.name()));
    if (version.spec != nullptr) {
      for (const Parameter& parameter : version.spec->parameters) {
        version.parameter_order.push_back(parameter.name);
      }
    } else {
      version.parameter_order = declared_order_of_text(text, "parameters");
    }
    fit_problem(version, asked);
    versions.push_back(std::move(version));
  }
  if (brought != nullptr && brought->name == query.kernel) {
    KernelVersion version;
    version.spec = brought;
    fit_problem(version, asked);
    versions.push_back(std::move(version));
  }
  return versions;
}

}  // namespace tunebook
