#include "db/lookup_tiers.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/hash.h"
#include "core/launch_plan.h"
#include "db/encoding.h"
#include "db/lookup_limits.h"

namespace tunebook {
namespace {

// A winner of the book with what decides whether it is the answer.
struct Candidate {
  const KernelVersion* version = nullptr;
  std::string session;
  std::string finished_utc;
  Configuration configuration;
  Device device;
  double median_us = 0;
  BlockNeeds needs;
};

Stale staleness(const Query& query, const std::string& hash) {
  if (query.kernel_hash.empty() || hash.empty()) {
    return Stale::unknown;
  }
  return query.kernel_hash == hash ? Stale::no : Stale::yes;
}

// True if the configuration is valid for the problem on the device: declared values, constraints, the cpu's own condition, and
// a block within the limits. What cannot be evaluated is not usable.
bool usable(const KernelSpec& spec, const Problem& problem, const Configuration& configuration, const Device& device,
            BlockNeeds needs) {
  try {
    spec.check_configuration(configuration, "configuration in the book");
    KernelSpec::Scope scope = spec.scope(problem, device);
    spec.bind(scope, configuration);
    if (spec.violated_constraint(scope) != nullptr) {
      return false;
    }
    if (device.kind == "cpu" && !spec.cpu.empty() && !spec.cpu.evaluate_bool(scope)) {
      return false;
    }
    const LaunchShape shape = evaluate_launch(spec.launch, scope, spec.name);
    if (!launch_limit_violated(shape, 0, device.limits).empty()) {
      return false;
    }
    needs.threads = shape.threads();
    needs.shared_bytes = std::max(needs.shared_bytes.value_or(0), shape.shared_bytes);
    return block_fits(needs, device.limits);
  } catch (const InputError&) {
    return false;
  } catch (const ExpressionError&) {
    return false;
  }
}

bool usable(const Candidate& candidate, const Query& query) {
  const Device device = actual_device(query.device, &candidate.device);
  if (candidate.version->spec == nullptr) {
    // Nothing to evaluate; but it was found valid for this problem on this device when it was tuned.
    return block_fits(candidate.needs, device.limits);
  }
  return usable(*candidate.version->spec, *candidate.version->problem, candidate.configuration, device, candidate.needs);
}

// The newest winner of each finished session of this version, problem, objective and method, on devices that agree with the
// query's key.
void add_exact_candidates(sqlite::Database& book, const Query& query, const KernelVersion& version,
                          std::vector<Candidate>& candidates) {
  // A method is stored as "cold/1": the query asks for its cache mode, the part before the slash.
  sqlite::Statement select(
      book,
      "SELECT session.uid, finished_utc, configuration.json, device.json, median_us, registers, shared_bytes FROM problem "
      "JOIN session ON problem_id = problem.id AND kernel_id = ?2 AND finished_utc IS NOT NULL "
      "JOIN device ON device.id = device_id "
      "JOIN winner ON winner.id = (SELECT max(id) FROM winner WHERE session_id = session.id AND objective = ?3) "
      "JOIN configuration ON configuration.id = configuration_id "
      "WHERE problem.hash = ?1 AND (?4 = '' OR method = ?4 OR substr(method, 1, length(?4) + 1) = ?4 || '/')");
  const Hash problem = to_hash(content_hash(version.problem->canonical()));
  sqlite::Statement::Run row = select.run(as_blob(problem), version.row, query.objective, query.method);
  while (row.next()) {
    try {
      Candidate candidate;
      candidate.version = &version;
      candidate.session = row.text(0);
      candidate.finished_utc = row.text(1);
      candidate.configuration = read_values(row.text(2), version.parameter_order, "configuration in the book");
      candidate.device = Device::from_json(nlohmann::json::parse(row.text(3), nullptr, false));
      candidate.median_us = row.real(4);
      candidate.needs.registers_per_thread = row.optional_integer(5);
      candidate.needs.shared_bytes = row.optional_integer(6);
      if (same_identity(query.device, candidate.device)) {
        candidates.push_back(std::move(candidate));
      }
    } catch (const InputError&) {
      // A row that this program cannot read is no answer, but others may be.
    }
  }
}

// Of several winners: the asked hash first, then the latest finished session, then the smaller session id.
void sort_by_preference(std::vector<Candidate>& candidates, const std::string& asked_hash) {
  std::sort(candidates.begin(), candidates.end(), [&](const Candidate& x, const Candidate& y) {
    const bool x_other = x.version->hash != asked_hash;
    const bool y_other = y.version->hash != asked_hash;
    return std::tie(x_other, y.finished_utc, x.session) < std::tie(y_other, x.finished_utc, y.session);
  });
}

Answer to_answer(const Candidate& candidate, const Query& query, Tier tier) {
  Answer answer;
  answer.tier = tier;
  answer.configuration = candidate.configuration.items();
  answer.problem = candidate.version->problem->items();
  answer.device = to_device_key(candidate.device);
  answer.median_us = candidate.median_us;
  answer.stale = staleness(query, candidate.version->hash);
  answer.session = candidate.session;
  answer.tuned_at_utc = candidate.finished_utc;
  answer.kernel_hash = candidate.version->hash;
  return answer;
}

// The device that a question about no tuned device is about: a GPU known by name only has the limits that the book has of it.
Device asked_device(sqlite::Database& book, const DeviceKey& key) {
  if (key.compute_capability == 0) {
    sqlite::Statement select(book, "SELECT json FROM device ORDER BY id DESC");
    sqlite::Statement::Run row = select.run();
    while (row.next()) {
      try {
        const Device known = Device::from_json(nlohmann::json::parse(row.text(0), nullptr, false));
        if (same_identity(key, known)) {
          return actual_device(key, &known);
        }
      } catch (const InputError&) {
        // Not readable by this program: the next one may be.
      }
    }
  }
  return actual_device(key, nullptr);
}

}  // namespace

std::optional<Answer> exact_tier(sqlite::Database& book, const Question& question) {
  std::vector<Candidate> candidates;
  for (const KernelVersion& version : question.versions) {
    if (version.row >= 0 && version.problem) {
      add_exact_candidates(book, question.query, version, candidates);
    }
  }
  sort_by_preference(candidates, question.query.kernel_hash);
  for (const Candidate& candidate : candidates) {
    if (usable(candidate, question.query)) {
      return to_answer(candidate, question.query, Tier::exact);
    }
  }
  return std::nullopt;
}

std::optional<Answer> default_tier(sqlite::Database& book, const Question& question) {
  const Device device = asked_device(book, question.query.device);
  bool newest_seen = false;
  for (const KernelVersion& version : question.versions) {
    if (version.spec == nullptr || (version.row >= 0 && newest_seen)) {
      continue;  // of the book's versions only the first counts: an older preset may name parameters that are gone
    }
    newest_seen = true;
    const Configuration* const preset = version.spec->find_preset("default");
    if (preset == nullptr || !version.problem || !usable(*version.spec, *version.problem, *preset, device, {})) {
      continue;
    }
    Answer answer;
    answer.tier = Tier::preset_default;
    answer.configuration = preset->items();
    answer.device.kind.clear();  // it was tuned nowhere
    answer.stale = staleness(question.query, version.hash);
    answer.kernel_hash = version.hash;
    return answer;
  }
  return std::nullopt;
}

}  // namespace tunebook
