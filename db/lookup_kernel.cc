#include "db/lookup_kernel.h"

#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "core/hash.h"
#include "db/encoding.h"
#include "db/schema.h"

namespace tunebook {
namespace {

// The asked problem in the declared order, what is missing of the categorical dimensions taken from their defaults.
Problem complete_problem(const KernelSpec& spec, const Problem& asked) {
  Problem problem;
  for (const Dimension& dimension : spec.dimensions) {
    if (const Value* value = asked.find(dimension.name)) {
      problem.set(dimension.name, *value);
    } else if (dimension.categorical) {
      problem.set(dimension.name, spec.default_of(dimension, asked));
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

std::vector<PresetNeeds> read_preset_needs(sqlite::Database& book, const KernelVersion& version, const Configuration& preset) {
  sqlite::Statement select(book,
                           "SELECT device_id, registers, shared_bytes FROM requirement WHERE kernel_id = ? "
                           "AND configuration_id = (SELECT id FROM configuration WHERE hash = ?)");
  const Hash hash = to_hash(content_hash(preset.canonical()));
  std::vector<PresetNeeds> needs;
  sqlite::Statement::Run row = select.run(version.row, as_blob(hash));
  while (row.next()) {
    needs.push_back({row.integer(0), row.optional_integer(1), row.optional_integer(2)});
  }
  return needs;
}

}  // namespace

KernelFit fit_problem(const KernelVersion& version, const LookupValues& asked_values) {
  Problem asked;
  for (const auto& [name, value] : asked_values) {
    asked.set(name, value);
  }
  if (version.spec == nullptr) {
    return {std::move(asked), ""};
  }
  try {
    return {complete_problem(*version.spec, asked), ""};
  } catch (const InputError& error) {
    return {std::nullopt, error.what()};
  }
}

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

std::vector<KernelVersion> kernel_versions(sqlite::Database& book, std::int64_t book_version, SpecCache& specs, const std::string& kernel,
                                           const std::vector<std::shared_ptr<const KernelSpec>>& brought) {
  std::vector<KernelVersion> versions;
  sqlite::Statement select(book, "SELECT id, hash, spec FROM kernel WHERE name = ?1 ORDER BY id DESC");
  sqlite::Statement::Run row = select.run(kernel);
  while (row.next()) {
    KernelVersion version;
    version.row = row.integer(0);
    version.hash = row.text(1);
    const std::string text = row.text(2);
    version.spec = specs.parse(text, fmt::format("kernel {} in book {}", kernel, book.name()));
    if (version.spec != nullptr) {
      for (const Parameter& parameter : version.spec->parameters) {
        version.parameter_order.push_back(parameter.name);
      }
      if (book_version >= kPublicationVersion) {
        for (const DefaultChoice& choice : version.spec->default_choices) {
          version.preset_needs.push_back(
              read_preset_needs(book, version, *version.spec->find_preset(choice.preset)));
        }
      }
    } else {
      version.parameter_order = declared_order_of_text(text, "parameters");
    }
    versions.push_back(std::move(version));
  }
  for (const std::shared_ptr<const KernelSpec>& spec : brought) {
    if (spec->name == kernel) {
      KernelVersion version;
      version.spec = spec;
      versions.push_back(std::move(version));
    }
  }
  return versions;
}

}  // namespace tunebook
