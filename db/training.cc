#include "db/training.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "db/book_reader.h"
#include "db/encoding.h"
#include "db/schema.h"

namespace tunebook {
namespace {

constexpr std::int64_t kSanitizerVersion = 2;  // the first whose finalists have the column

bool proves_bad(Outcome outcome) {
  return outcome == Outcome::wrong_result || outcome == Outcome::nondeterministic ||
         outcome == Outcome::fault || outcome == Outcome::divergent_barrier;
}

bool usable_time(double median_us) { return std::isfinite(median_us) && median_us > 0; }

// A kernel as the book declares it.
struct Kernel {
  std::string name, hash;
  std::optional<KernelSpec> spec;
  std::string reason;  // without a spec
};

struct Session {
  std::int64_t kernel = 0, device = 0, problem = 0;
  std::string method;
};

// What is known of one pair of problem and configuration while rows are read.
struct Measurement {
  TrainingTrial trial;
  bool reused = false;
};

// Rows of one group, by their ids in the book.
struct Gathered {
  std::map<std::pair<std::int64_t, std::int64_t>, Measurement>
      pairs;  // by problem row and configuration row
  std::int64_t left_out = 0;
};

using GroupKey = std::tuple<std::int64_t, std::int64_t, std::string,
                            std::string>;  // kernel, device, dtype, method

class Reader {
 public:
  Reader(sqlite::Database& book, std::int64_t version, const std::vector<std::string>& names)
      : book_(book), version_(version), names_(names) {}

  TrainingBook read() {
    read_kernels();
    read_devices();
    read_sessions();
    read_trials();
    read_finalists();
    TrainingBook result;
    for (const auto& [row, kernel] : kernels_) {
      if (!kernel.spec) result.unreadable.push_back({kernel.name, kernel.hash, kernel.reason});
    }
    for (auto& [key, gathered] : groups_) result.groups.push_back(finished(key, gathered));
    return result;
  }

 private:
  void read_kernels() {
    sqlite::Statement select(book_, "SELECT id, name, hash, spec FROM kernel ORDER BY id");
    sqlite::Statement::Run row = select.run();
    while (row.next()) {
      Kernel kernel{row.text(1), row.text(2), std::nullopt, ""};
      if (!names_.empty() && std::find(names_.begin(), names_.end(), kernel.name) == names_.end())
        continue;
      try {
        kernel.spec =
            KernelSpec::parse(nlohmann::ordered_json::parse(row.text(3)), "kernel " + kernel.name);
      } catch (const nlohmann::json::exception&) {
        kernel.reason = "its declaration in the book is no JSON";
      } catch (const InputError& error) {
        kernel.reason = error.what();
      }
      kernels_.emplace(row.integer(0), std::move(kernel));
    }
  }

  void read_devices() {
    sqlite::Statement select(book_, "SELECT id, json FROM device");
    sqlite::Statement::Run row = select.run();
    while (row.next()) {
      const auto json = nlohmann::json::parse(row.text(1), nullptr, false);
      try {
        if (!json.is_discarded()) devices_.emplace(row.integer(0), Device::from_json(json));
      } catch (const InputError&) {
        // Its sessions are passed over; `doctor` tells of the damage.
      }
    }
  }

  void read_sessions() {
    sqlite::Statement select(book_,
                             "SELECT id, kernel_id, device_id, problem_id, method FROM session");
    sqlite::Statement::Run row = select.run();
    while (row.next()) {
      const auto kernel = kernels_.find(row.integer(1));
      if (kernel == kernels_.end() || !kernel->second.spec || !devices_.contains(row.integer(2)))
        continue;
      sessions_.emplace(row.integer(0),
                        Session{row.integer(1), row.integer(2), row.integer(3), row.text(4)});
    }
  }

  // The problem of a row as a kernel declares it; null if it does not fit.
  const Problem* problem(std::int64_t kernel, std::int64_t row) {
    const auto [entry, is_new] = problems_.try_emplace({kernel, row});
    if (is_new)
      entry->second =
          read_values_of(kernel, row, "SELECT json FROM problem WHERE id = ?", "problem", false);
    return entry->second ? &*entry->second : nullptr;
  }
  const Configuration* configuration(std::int64_t kernel, std::int64_t row) {
    const auto [entry, is_new] = configurations_.try_emplace({kernel, row});
    if (is_new)
      entry->second = read_values_of(kernel, row, "SELECT json FROM configuration WHERE id = ?",
                                     "parameters", true);
    return entry->second ? &*entry->second : nullptr;
  }

  std::optional<NamedValues> read_values_of(std::int64_t kernel, std::int64_t id, const char* sql,
                                            const char* what, bool parameters) {
    const KernelSpec& spec = *kernels_.at(kernel).spec;
    std::vector<std::string> order;
    for (const Dimension& one : spec.dimensions) {
      if (!parameters) order.push_back(one.name);
    }
    for (const Parameter& one : spec.parameters) {
      if (parameters) order.push_back(one.name);
    }
    sqlite::Statement select(book_, sql);
    sqlite::Statement::Run row = select.run(id);
    if (!row.next()) return std::nullopt;
    try {
      NamedValues values = read_values(row.text(0), order, what);
      if (parameters) {
        spec.check_configuration(values, what);
      } else {
        spec.check_problem(values);
      }
      return values;
    } catch (const InputError&) {
      return std::nullopt;
    }
  }

  std::string dtype(const Session& session, const Problem& problem) const {
    const Dimension* dimension = kernels_.at(session.kernel).spec->find_dimension("dtype");
    return dimension != nullptr && dimension->categorical ? to_text(problem.at("dtype"))
                                                          : std::string();
  }

  // The group that a row of this session and configuration belongs to; null if it fits no
  // declaration.
  Gathered* group_of(const Session& session, std::int64_t configuration_row) {
    const Problem* const asked = problem(session.kernel, session.problem);
    if (asked == nullptr) return nullptr;
    Gathered& group =
        groups_[{session.kernel, session.device, dtype(session, *asked), session.method}];
    if (configuration(session.kernel, configuration_row) != nullptr) return &group;
    ++group.left_out;
    return nullptr;
  }

  void condemn(const Session& session, std::int64_t configuration_row) {
    if (const Problem* const asked = problem(session.kernel, session.problem)) {
      bad_.emplace(session.kernel, dtype(session, *asked), configuration_row);
    }
  }

  void read_trials() {
    sqlite::Statement select(
        book_,
        "SELECT session_id, configuration_id, outcome, median_us, registers, shared_static_bytes, "
        "shared_dynamic_bytes, verified_problems, reused, recorded_utc, origin FROM trial ORDER BY "
        "id");
    sqlite::Statement::Run row = select.run();
    while (row.next()) {
      const auto session = sessions_.find(row.integer(0));
      if (session == sessions_.end()) continue;
      const std::optional<Outcome> outcome = parse_outcome(row.text_view(2));
      if (!outcome) {
        throw InputError(fmt::format(
            "book {}: it has a trial of an unknown outcome \"{}\" (a newer Tunebook may know it)",
            book_.name(), row.text_view(2)));
      }
      // An application's trial was compared with another configuration's results on the
      // application's data: enough to learn its time from, not enough to condemn it.
      const bool of_application = row.text_view(10) == "launch";
      if (proves_bad(*outcome) && !of_application) condemn(session->second, row.integer(1));
      Gathered* const group = group_of(session->second, row.integer(1));
      if (group == nullptr) continue;
      Measurement read;
      TrainingTrial& trial = read.trial;
      trial.outcome = *outcome;
      trial.median_us = has_time(*outcome) ? row.optional_real(3).value_or(0) : 0;
      trial.registers = row.optional_integer(4).value_or(-1);
      const auto shared_static = row.optional_integer(5), shared_dynamic = row.optional_integer(6);
      if (shared_static || shared_dynamic)
        trial.shared_bytes = shared_static.value_or(0) + shared_dynamic.value_or(0);
      trial.verified =
          row.integer(7) > 0 || of_application || session->second.method.ends_with("/replay");
      trial.recorded_utc = row.text(9);
      read.reused = row.integer(8) != 0;
      // A copy of an older result is no newer measurement. Rows come by id, which decides between
      // equal times.
      const auto [known, is_new] =
          group->pairs.try_emplace({session->second.problem, row.integer(1)}, read);
      Measurement& old = known->second;
      const bool newer =
          read.reused == old.reused ? trial.recorded_utc >= old.trial.recorded_utc : !read.reused;
      if (!is_new && newer) old = std::move(read);
    }
  }

  // What finalists took in several processes, measured in turn, is worth more than one trial's
  // median.
  void read_finalists() {
    sqlite::Statement select(
        book_, fmt::format("SELECT session_id, finalist.configuration_id, finalist.median_us, {}, "
                           "recorded_utc FROM finalist "
                           "JOIN winner ON winner.id = winner_id ORDER BY recorded_utc, winner.id",
                           version_ >= kSanitizerVersion ? "sanitizer" : "''"));
    sqlite::Statement::Run row = select.run();
    while (row.next()) {
      const auto session = sessions_.find(row.integer(0));
      if (session == sessions_.end()) continue;
      const std::string_view sanitizer = row.text_view(3);
      if (!sanitizer.empty() && sanitizer != "clean") condemn(session->second, row.integer(1));
      // One without a trial of its own has not been checked here.
      const Problem* const asked = problem(session->second.kernel, session->second.problem);
      if (asked == nullptr) continue;
      const auto group = groups_.find({session->second.kernel, session->second.device,
                                       dtype(session->second, *asked), session->second.method});
      if (group == groups_.end()) continue;
      const auto known = group->second.pairs.find({session->second.problem, row.integer(1)});
      if (known == group->second.pairs.end()) continue;
      TrainingTrial& trial = known->second.trial;
      if (!has_time(trial.outcome) || row.text_view(4) < trial.recorded_utc ||
          !usable_time(row.real(2)))
        continue;
      trial.outcome = Outcome::ok;
      trial.median_us = row.real(2);
      trial.recorded_utc = row.text(4);
    }
  }

  TrainingGroup finished(const GroupKey& key, Gathered& gathered) {
    const auto& [kernel, device, dtype_text, method] = key;
    TrainingGroup group;
    group.kernel = kernel;
    group.device_row = device;
    group.name = kernels_.at(kernel).name;
    group.kernel_hash = kernels_.at(kernel).hash;
    group.spec = *kernels_.at(kernel).spec;
    group.device = devices_.at(device);
    group.dtype = dtype_text;
    group.method = method;
    group.left_out = gathered.left_out;
    // Rows are numbered differently in books that were merged in another order: canonical text is
    // not.
    std::map<std::string, std::int64_t> problem_rows, configuration_rows;
    std::unordered_map<std::int64_t, std::uint32_t> problem_of, configuration_of;
    for (const auto& [pair, measurement] : gathered.pairs) {
      if (problem_of.try_emplace(pair.first, 0).second)
        problem_rows.emplace(problem(kernel, pair.first)->canonical(), pair.first);
      if (configuration_of.try_emplace(pair.second, 0).second) {
        configuration_rows.emplace(configuration(kernel, pair.second)->canonical(), pair.second);
      }
    }
    for (const auto& [text, row] : problem_rows) {
      problem_of[row] = static_cast<std::uint32_t>(group.problems.size());
      group.problems.push_back(*problem(kernel, row));
    }
    for (const auto& [text, row] : configuration_rows) {
      configuration_of[row] = static_cast<std::uint32_t>(group.configurations.size());
      group.configurations.push_back(*configuration(kernel, row));
      group.proved_bad.push_back(bad_.contains({kernel, dtype_text, row}));
    }
    for (auto& [pair, measurement] : gathered.pairs) {
      TrainingTrial& trial = measurement.trial;
      if (has_time(trial.outcome) && !usable_time(trial.median_us)) {
        ++group.left_out;
        continue;
      }
      trial.problem = problem_of.at(pair.first);
      trial.configuration = configuration_of.at(pair.second);
      group.trials.push_back(std::move(trial));
    }
    std::sort(group.trials.begin(), group.trials.end(),
              [](const TrainingTrial& x, const TrainingTrial& y) {
                return std::tie(x.problem, x.configuration) < std::tie(y.problem, y.configuration);
              });
    return group;
  }

  sqlite::Database& book_;
  std::int64_t version_;
  const std::vector<std::string>& names_;
  std::map<std::int64_t, Kernel> kernels_;
  std::unordered_map<std::int64_t, Device> devices_;
  std::unordered_map<std::int64_t, Session> sessions_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::optional<NamedValues>> problems_,
      configurations_;
  std::map<GroupKey, Gathered> groups_;
  std::set<std::tuple<std::int64_t, std::string, std::int64_t>>
      bad_;  // kernel, dtype, configuration row
};

}  // namespace

TrainingBook read_training(const std::filesystem::path& path,
                           const std::vector<std::string>& kernels) {
  BookReader reader(path);
  return reader.read(
      [&](sqlite::Database& book) { return Reader(book, reader.version(), kernels).read(); });
}

}  // namespace tunebook
