#include "db/learned_trials.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "core/hash.h"
#include "core/json_text.h"
#include "core/spec.h"
#include "core/statistics.h"
#include "db/lookup_limits.h"
#include "db/store.h"

namespace tunebook {
namespace {

constexpr std::size_t kMostNotes = 10;
constexpr std::size_t kMostSamples = 10'000;  // of one configuration
constexpr std::size_t kMostMessage = 4096;
constexpr std::string_view kOrigin = "launch";

// One line, read and checked in itself.
struct Line {
  TrialContext context;  // without the declaration
  Problem problem;
  TrialRecord trial;
  std::string asked_utc;
  // Lines of equal text here, one after the other, are one refinement.
  std::string refinement;
};

std::string text_member(const nlohmann::ordered_json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_string()) throw InputError(fmt::format("/{}: expected a string", key));
  return found->get<std::string>();
}

const nlohmann::ordered_json& object_member(const nlohmann::ordered_json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_object()) throw InputError(fmt::format("/{}: expected an object", key));
  return *found;
}

// 0 where it is missing.
std::int64_t number_member(const nlohmann::ordered_json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || found->is_null()) return 0;
  if (!found->is_number_integer() || *found < 0 || *found > (std::int64_t{1} << 40)) {
    throw InputError(fmt::format("/{}: expected a number of at least 0", key));
  }
  return found->get<std::int64_t>();
}

DeviceKey read_device(const nlohmann::ordered_json& json) {
  DeviceKey key;
  key.kind = text_member(json, "kind");
  key.name = text_member(json, "name");
  key.compute_capability = static_cast<int>(std::min<std::int64_t>(number_member(json, "compute_capability"), 100000));
  key.sm_count = number_member(json, "sm_count");
  key.memory_gib = number_member(json, "memory_gib");
  key.max_threads_per_block = number_member(json, "max_threads_per_block");
  key.shared_bytes_per_block_optin = number_member(json, "shared_bytes_per_block_optin");
  key.registers_per_block = number_member(json, "registers_per_block");
  return key;
}

// ISO 8601 as lines have it; the text's order is that of time.
std::string read_time(const nlohmann::ordered_json& json) {
  std::string time = text_member(json, "asked_utc");
  constexpr std::string_view kDigits = "dddd-dd-ddTdd:dd:dd";
  bool right = time.size() > kDigits.size() && time.size() <= 32 && time.back() == 'Z';
  for (std::size_t i = 0; right && i < kDigits.size(); ++i) {
    right = kDigits[i] == 'd' ? time[i] >= '0' && time[i] <= '9' : time[i] == kDigits[i];
  }
  if (!right) throw InputError("/asked_utc: expected a time such as 2026-01-31T12:00:00.000000Z");
  return time;
}

std::vector<double> read_samples(const nlohmann::ordered_json& json) {
  const auto found = json.find("samples_us");
  if (found == json.end() || !found->is_array() || found->size() > kMostSamples) {
    throw InputError(fmt::format("/samples_us: expected a list of at most {} times", kMostSamples));
  }
  std::vector<double> samples;
  for (const nlohmann::ordered_json& sample : *found) {
    const double us = sample.is_number() ? sample.get<double>() : -1;
    if (!(us > 0 && std::isfinite(us))) throw InputError("/samples_us: expected numbers greater than 0");
    samples.push_back(us);
  }
  return samples;
}

Line read_line(std::string_view text) {
  const nlohmann::ordered_json json = parse_json_text(text, "a line");
  if (!json.is_object()) throw InputError("expected an object");
  if (json.find("source") == json.end() || json["source"] != kOrigin) {
    throw InputError("/source: expected \"launch\"; a log of misses is for a sweep's {\"from_misses\": FILE}");
  }
  Line line;
  TrialContext& context = line.context;
  context.kernel = text_member(json, "kernel");
  context.kernel_hash = text_member(json, "kernel_hash");
  const nlohmann::ordered_json& device = object_member(json, "device");
  context.device = actual_device(read_device(device), nullptr);
  context.toolchain = kOrigin;  // never that of a session: its trials are no answer for one
  context.method = text_member(json, "method");
  context.environment = nlohmann::json::object();
  line.problem = Problem::from_json(object_member(json, "problem"), "/problem");
  line.asked_utc = read_time(json);
  TrialRecord& trial = line.trial;
  trial.origin = kOrigin;
  trial.configuration = Configuration::from_json(object_member(json, "configuration"), "/configuration");
  const std::string name = text_member(json, "outcome");
  const std::optional<Outcome> outcome = parse_outcome(name);
  if (!outcome) throw InputError(fmt::format("/outcome: \"{}\" is no outcome", name));
  trial.outcome = *outcome;
  trial.message = text_member(json, "message").substr(0, kMostMessage);
  trial.samples_us = read_samples(json);
  if (has_time(trial.outcome) == trial.samples_us.empty()) {
    throw InputError(fmt::format("/samples_us: outcome {} with {} times", name, trial.samples_us.size()));
  }
  if (!trial.samples_us.empty()) {
    trial.median_us = median(trial.samples_us);
    trial.min_us = *std::min_element(trial.samples_us.begin(), trial.samples_us.end());
    const Interval interval = median_interval(trial.samples_us);
    trial.ci_low_us = interval.low;
    trial.ci_high_us = interval.high;
  }
  if (const std::int64_t registers = number_member(json, "registers"); registers > 0) trial.resources.registers = registers;
  line.refinement = context.kernel + '\n' + context.kernel_hash + '\n' + line.problem.canonical() + '\n' + context.device.key() + '\n' +
                    context.method + '\n' + line.asked_utc;
  return line;
}

class Merger {
 public:
  Merger(const std::filesystem::path& file, Store& store) : file_(file), store_(store) { result_.path = file; }

  LearnedResult run() {
    const std::string text = read_text_file(file_, std::size_t{128} << 20);
    std::size_t number = 1;
    for (std::size_t start = 0; start < text.size(); ++number) {
      const std::size_t end = std::min(text.find('\n', start), text.size());
      take(std::string_view(text).substr(start, end - start), number);
      start = end + 1;
    }
    flush();
    if (result_.trials == 0) {
      throw InputError(result_.notes.empty() ? file_.string() + ": found no line in it" : fmt::format("no line can be used: {}", result_.notes[0]));
    }
    return std::move(result_);
  }

 private:
  void take(std::string_view text, std::size_t number) {
    if (text.find_first_not_of(" \t\r") == std::string_view::npos) return;
    try {
      Line line = read_line(text);
      check(line);
      if (!lines_.empty() && lines_.back().refinement != line.refinement) flush();
      lines_.push_back(std::move(line));
    } catch (const InputError& error) {
      ++result_.passed_over;
      if (result_.notes.size() < kMostNotes) result_.notes.push_back(fmt::format("{}:{}: {}", file_.string(), number, error.what()));
    }
  }

  // By the declaration that the book has.
  void check(Line& line) {
    const std::string key = line.context.kernel + '\n' + line.context.kernel_hash;
    auto known = kernels_.find(key);
    if (known == kernels_.end()) {
      known = kernels_.emplace(key, nullptr).first;
      if (const auto json = store_.kernel_spec(line.context.kernel, line.context.kernel_hash)) {
        known->second = std::make_unique<Known>(Known{*json, KernelSpec::parse(*json, "the book's declaration of " + line.context.kernel)});
      }
    }
    if (known->second == nullptr) {
      throw InputError(fmt::format("the book has no kernel {} of version {}: merge the book first that the application asked, or tune this version once",
                                   line.context.kernel, line.context.kernel_hash.substr(0, 12)));
    }
    const Known& kernel = *known->second;
    kernel.spec.check_problem(line.problem);
    kernel.spec.check_configuration(line.trial.configuration, "/configuration");
    line.context.kernel_spec = kernel.json;
    if (auto device = store_.find_device(line.context.device.key())) line.context.device = *std::move(device);
  }

  void flush() {
    if (lines_.empty()) return;
    const Line& first = lines_.front();
    HashBuilder content;
    content.add(first.refinement);
    std::vector<TrialRecord> trials;
    for (Line& line : lines_) {
      content.add(line.trial.configuration.canonical());
      content.add(outcome_name(line.trial.outcome));
      for (const double us : line.trial.samples_us) content.add(fmt::format("{}", us));
      line.trial.order = static_cast<std::int64_t>(trials.size());
      trials.push_back(line.trial);
    }
    SessionRecord session;
    session.id = content.hex();
    session.problem = first.problem;
    session.strategy = kOrigin;
    session.identity = {{"strategy", kOrigin}, {"content", session.id}};
    session.started_utc = first.asked_utc;
    ++result_.refinements;
    result_.trials += static_cast<std::int64_t>(trials.size());
    if (store_.add_learned_session(first.context, session, trials)) {
      ++result_.refinements_added;
      result_.trials_added += static_cast<std::int64_t>(trials.size());
    }
    lines_.clear();
  }

  struct Known {
    nlohmann::ordered_json json;
    KernelSpec spec;
  };
  std::filesystem::path file_;
  Store& store_;
  LearnedResult result_;
  std::map<std::string, std::unique_ptr<Known>> kernels_;  // null: the book has none
  std::vector<Line> lines_;                                // of one refinement
};

}  // namespace

bool is_learned_file(const std::filesystem::path& path) {
  std::ifstream file(path);
  char first = ' ';
  return file >> first && first == '{';
}

LearnedResult merge_learned(const std::filesystem::path& file, const std::filesystem::path& target) {
  if (!std::filesystem::exists(target)) {
    throw InputError(fmt::format("{}: no such book; {} goes into the book that the application asked, or one merged from it", target.string(), file.string()));
  }
  Store store(target);
  return Merger(file, store).run();
}

}  // namespace tunebook
