#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "db/encoding.h"
#include "db/lookup_book.h"
#include "db/lookup_limits.h"

namespace tunebook {
namespace {

// One winner of the kernel, whatever its device, objective and method.
struct Outsider {
  Answer candidate;
  bool finished = false;
  bool same_device = false, related_device = false;
  const KernelFit* fit = nullptr;
  const KernelVersion* version = nullptr;
};

// The categorical dimension in which the tuned problem differs from the asked one: "dtype is f16, asked is f32"; empty: none.
std::string categorical_difference(const Outsider& outsider) {
  if (outsider.version->spec == nullptr) {
    return "";
  }
  for (const Dimension& dimension : outsider.version->spec->dimensions) {
    if (!dimension.categorical) {
      continue;
    }
    for (const auto& [name, value] : outsider.candidate.problem) {
      const Value& asked = outsider.fit->problem->at(dimension.name);
      if (name == dimension.name && value != asked) {
        return fmt::format("tuned for {} = {}, asked is {}", name, to_text(value), to_text(asked));
      }
    }
  }
  return "";
}

std::string device_text(const DeviceKey& key) {
  return key.compute_capability != 0 ? fmt::format("{} (sm_{})", key.name, key.compute_capability) : key.name;
}

// Why a winner belongs to no tier; nothing if it belongs to one.
std::optional<std::pair<Obstacle, std::string>> why_outside(const Question& question, const Outsider& outsider) {
  const Answer& candidate = outsider.candidate;
  if (!outsider.finished) {
    return std::pair(Obstacle::unfinished, fmt::format("session {} has not come to an end", candidate.session));
  }
  if (candidate.objective != question.query->objective) {
    return std::pair(Obstacle::other_objective,
                     fmt::format("objective {}, asked is {}", candidate.objective, question.query->objective));
  }
  if (!method_matches(candidate.method, question.query->method)) {
    return std::pair(Obstacle::other_method, fmt::format("measured {}, asked is {}", candidate.method, question.query->method));
  }
  if (!outsider.same_device && !outsider.related_device) {
    return std::pair(Obstacle::other_device, fmt::format("tuned on {}, another architecture", device_text(candidate.device)));
  }
  if (!outsider.fit->problem) {
    return std::pair(Obstacle::declaration, outsider.fit->complaint);
  }
  if (outsider.version->spec == nullptr) {
    const bool same_problem = read_values(outsider.fit->problem->canonical(), {}, "problem") == [&] {
      Problem tuned;
      for (const auto& [name, value] : candidate.problem) {
        tuned.set(name, value);
      }
      return tuned;
    }();
    return same_problem && outsider.same_device
               ? std::nullopt
               : std::optional(std::pair(Obstacle::declaration,
                                         std::string("its declaration cannot be read here, so it answers its own problem only")));
  }
  std::string difference = categorical_difference(outsider);
  return difference.empty() ? std::nullopt : std::optional(std::pair(Obstacle::categorical, std::move(difference)));
}

const KnownDevice* find_device(const std::vector<const KnownDevice*>& devices, std::int64_t row) {
  for (const KnownDevice* const device : devices) {
    if (device->row == row) {
      return device;
    }
  }
  return nullptr;
}

}  // namespace

void add_outsiders(sqlite::Database& book, const Question& question, std::size_t most, Explanation& explanation) {
  sqlite::Statement select(book,
                           "SELECT uid, finished_utc, method, problem.json, objective, configuration.json, median_us, ci_low_us, "
                           "ci_high_us, registers, shared_bytes, device_id, device.json FROM session "
                           "CROSS JOIN winner ON winner.id IN (SELECT id FROM (SELECT id, max(recorded_utc) FROM winner WHERE session_id = session.id "
                           "GROUP BY objective)) "
                           "CROSS JOIN problem ON problem.id = problem_id CROSS JOIN device ON device.id = device_id "
                           "CROSS JOIN configuration ON configuration.id = configuration_id "
                           "WHERE kernel_id = ? ORDER BY session.id DESC");
  for (std::size_t i = 0; i < question.versions->size(); ++i) {
    const KernelVersion& version = (*question.versions)[i];
    if (version.row < 0) {
      continue;
    }
    const std::vector<std::string> dimensions =
        version.spec != nullptr ? declared_order(version.spec->to_json(), "problem") : std::vector<std::string>();
    sqlite::Statement::Run row = select.run(version.row);
    while (row.next()) {
      Outsider outsider;
      outsider.version = &version;
      outsider.fit = &question.fits[i];
      outsider.finished = !row.is_null(1);
      outsider.same_device = find_device(question.same, row.integer(11)) != nullptr;
      outsider.related_device = find_device(question.related, row.integer(11)) != nullptr;
      Answer& candidate = outsider.candidate;
      candidate.session = row.text(0);
      candidate.tuned_at_utc = row.text(1);
      candidate.method = row.text(2);
      candidate.objective = row.text(4);
      candidate.kernel_hash = version.hash;
      candidate.median_us = row.real(6);
      candidate.ci_low_us = row.real(7);
      candidate.ci_high_us = row.real(8);
      candidate.registers_per_thread = row.optional_integer(9);
      candidate.shared_bytes = row.optional_integer(10);
      std::optional<std::pair<Obstacle, std::string>> reason;
      try {
        candidate.problem = read_values(row.text(3), dimensions, "problem in the book").items();
        candidate.device = to_device_key(Device::from_json(nlohmann::json::parse(row.text(12), nullptr, false)));
        reason = why_outside(question, outsider);
      } catch (const InputError& error) {
        reason = std::pair(Obstacle::unreadable, std::string(error.what()));
      }
      if (!reason) {
        continue;
      }
      try {
        candidate.configuration = read_values(row.text(5), version.parameter_order, "configuration in the book").items();
      } catch (const InputError&) {
        // It stays empty; what is wrong with the row has been found already.
      }
      if (explanation.considered.size() >= most) {
        ++explanation.left_out;
        continue;
      }
      explanation.considered.push_back({std::move(candidate), false, reason->first, std::move(reason->second)});
    }
  }
}

}  // namespace tunebook
