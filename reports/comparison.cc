#include "reports/comparison.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"
#include "core/json_text.h"
#include "core/statistics.h"
#include "core/value.h"
#include "reports/gate.h"
#include "reports/wording.h"

namespace tunebook::reports {
namespace {

constexpr std::string_view kKernelName = "kernel";
constexpr std::string_view kEnergyObjective = "energy";
constexpr int kNo = 3, kBadInput = 2;  // exit codes, as of all verbs

// Labels whose differences refuse a gate, with the names by which they are allowed.
struct GateLabel {
  std::string_view label, name;
};
constexpr std::array kGateLabels = {GateLabel{kGpuLabel, "gpu"}, GateLabel{kDriverLabel, "driver"}, GateLabel{kToolkitLabel, "toolkit"},
                                    GateLabel{kClocksLabel, "clocks"}};

// What NVML says about the clocks that a GPU may take, as the environment's labels name it. Not every driver tells: only values known
// on both sides count.
constexpr std::array<std::string_view, 5> kClockSettings = {"application sm clock mhz", "application memory clock mhz", "max sm clock mhz",
                                                            "max memory clock mhz", "power limit w"};

bool is_clock_setting(std::string_view label) {
  return std::find(kClockSettings.begin(), kClockSettings.end(), label) != kClockSettings.end();
}

// The name that allows a difference of this label; empty if it needs none.
std::string_view allowing_name(std::string_view label) {
  for (const GateLabel& gate : kGateLabels) {
    if (gate.label == label) return gate.name;
  }
  if (is_clock_setting(label)) return "clocks";
  return label.starts_with("kernel ") ? kKernelName : std::string_view{};
}

// "cold/2" of "cold/2@1500MHz".
std::string_view without_clock(std::string_view method) { return method.substr(0, method.find('@')); }

std::string value_of(const std::vector<Labelled>& environment, std::string_view label) {
  const auto found = std::find_if(environment.begin(), environment.end(), [&](const Labelled& entry) { return entry.label == label; });
  return found == environment.end() ? "" : found->value;
}

std::string text_of(const Value* value) { return value == nullptr ? "" : to_text(*value); }

std::vector<ConfigurationDifference> configuration_differences(const Configuration& base, const Configuration& candidate) {
  std::vector<ConfigurationDifference> differences;
  const auto add = [&](const std::string& parameter) {
    const std::string before = text_of(base.find(parameter)), after = text_of(candidate.find(parameter));
    if (before != after) differences.push_back({parameter, before, after});
  };
  for (const auto& [parameter, value] : base.items()) add(parameter);
  for (const auto& [parameter, value] : candidate.items()) {
    if (base.find(parameter) == nullptr) add(parameter);
  }
  return differences;
}

TimeEstimate estimate(const std::vector<double>& process_medians_us) {
  const Interval interval = median_interval(process_medians_us);
  return {median(process_medians_us), interval.low, interval.high, interval.coverage};
}

// The candidate may be one of the base's nights, where an older one is compared with a newer one.
HistoricalNoise noise_of(const Item& base, const Item& candidate) {
  std::vector<Night> nights;
  for (const TrendPoint& night : base.trend) {
    if (night.session_id != candidate.session_id) nights.push_back({night.configuration, night.kernel_hash, night.time.median_us});
  }
  return historical_noise(nights);
}

// The clock of a boost moves by 15 MHz steps; from this share on it may be what a change comes from.
constexpr double kClockChange = 0.02;

// "; the SM clock was 1980 MHz and is 1755 MHz", if that is so.
std::string clock_change(const ConfigurationRow& base, const ConfigurationRow& candidate) {
  if (!base.sm_clock_mhz || !candidate.sm_clock_mhz) return {};
  if (std::abs(*candidate.sm_clock_mhz - *base.sm_clock_mhz) <= kClockChange * *base.sm_clock_mhz) return {};
  return fmt::format("; the SM clock was {:.0f} MHz and is {:.0f} MHz", *base.sm_clock_mhz, *candidate.sm_clock_mhz);
}

class Comparer {
 public:
  Comparer(Report base, Report candidate, ComparisonSettings settings, std::span<const Remeasurement> remeasured)
      : remeasured_(remeasured) {
    result_.base = std::move(base);
    result_.candidate = std::move(candidate);
    result_.settings = std::move(settings);
  }

  Comparison run() {
    match();
    judge_pairs();
    sort_items();
    summarise();
    return std::move(result_);
  }

 private:
  const std::vector<Item>& base_items() const { return result_.base.items; }
  const std::vector<Item>& candidate_items() const { return result_.candidate.items; }

  void match() {
    std::vector<bool> base_taken(base_items().size()), candidate_taken(candidate_items().size());
    for (const ItemPair& pair : pair_items(result_.base, result_.candidate)) {
      base_taken[pair.base] = candidate_taken[pair.candidate] = true;
      result_.items.push_back(compared(pair));
    }
    for (std::size_t i = 0; i < base_taken.size(); ++i) {
      if (!base_taken[i]) result_.items.push_back(alone(i, true));
    }
    for (std::size_t i = 0; i < candidate_taken.size(); ++i) {
      if (!candidate_taken[i]) result_.items.push_back(alone(i, false));
    }
  }

  ComparedItem alone(std::size_t place, bool of_base) const {
    const Item& item = of_base ? base_items()[place] : candidate_items()[place];
    ComparedItem compared;
    compared.key = item.key;
    set_gate(compared);
    (of_base ? compared.base : compared.candidate) = place;
    if (item.time() != nullptr) (of_base ? compared.base_time : compared.candidate_time) = *item.time();
    if (item.winner) (of_base ? compared.base_processes : compared.candidate_processes) = item.winner->process_medians_us.size();
    compared.verdict = of_base ? Verdict::only_base : Verdict::only_candidate;
    compared.reason = of_base ? "the candidate was not tuned for it" : "the base was not tuned for it";
    return compared;
  }

  ComparedItem compared(const ItemPair& pair) {
    const Item& base = base_items()[pair.base];
    const Item& candidate = candidate_items()[pair.candidate];
    ComparedItem item;
    item.key = candidate.key;
    item.base = pair.base;
    item.candidate = pair.candidate;
    item.kernel_changed = base.kernel_hash != candidate.kernel_hash;
    item.same_session = !base.session_id.empty() && base.session_id == candidate.session_id;
    if (base.winner) item.base_processes = base.winner->process_medians_us.size();
    if (candidate.winner) item.candidate_processes = candidate.winner->process_medians_us.size();
    if (base.winner && candidate.winner) {
      item.configuration_differences = configuration_differences(base.winner->configuration, candidate.winner->configuration);
      item.same_configuration = item.configuration_differences.empty();
    }
    item.remeasured = remeasurement(pair) != nullptr;
    if (const Remeasurement* again = remeasurement(pair)) {
      if (!again->base_us.empty()) item.base_time = estimate(again->base_us);
      if (!again->candidate_us.empty()) item.candidate_time = estimate(again->candidate_us);
    } else {
      if (base.time() != nullptr) item.base_time = *base.time();
      if (candidate.time() != nullptr) item.candidate_time = *candidate.time();
    }
    compare_energies(base, candidate, item);
    const HistoricalNoise noise = noise_of(base, candidate);
    item.noise = noise.share;
    item.noise_nights = noise.nights;
    set_gate(item);
    if (!base.winner && candidate.winner) {
      item.verdict = Verdict::only_candidate;
      item.reason = "the base has no winner for it";
    } else if (base.winner && !candidate.winner) {
      item.verdict = Verdict::only_base;
      item.reason = candidate.finished ? "the candidate has no winner for it: nothing passed" : "the candidate's session is not finished";
    } else if (!base.winner) {
      item.reason = "neither side has a winner for it";
    } else if (item.same_session) {
      item.reason = candidate.newer_unfinished ? "the same session on both sides: the candidate's newer one has not ended" : "the same session on both sides";
    }
    note_environment(base, candidate, item);
    return item;
  }

  const Remeasurement* remeasurement(const ItemPair& pair) const {
    const auto found = std::find_if(remeasured_.begin(), remeasured_.end(), [&](const Remeasurement& again) {
      return again.base == pair.base && again.candidate == pair.candidate;
    });
    return found == remeasured_.end() ? nullptr : &*found;
  }

  void set_gate(ComparedItem& item) const {
    const auto own = result_.settings.kernel_thresholds.find(item.key.kernel);
    item.threshold = own == result_.settings.kernel_thresholds.end() ? result_.settings.threshold : own->second;
    item.gate = std::max(item.threshold, item.noise);
  }

  // ---- what differs

  void note_environment(const Item& base, const Item& candidate, const ComparedItem& item) {
    // Two winners timed again in the same processes have everything in common but the kernel.
    const bool matters = !item.remeasured;
    std::vector<std::string> labels;
    for (const GateLabel& gate : kGateLabels) labels.emplace_back(gate.label);
    for (const std::vector<Labelled>* environment : {&base.environment, &candidate.environment}) {
      for (const Labelled& entry : *environment) {
        if (std::find(labels.begin(), labels.end(), entry.label) == labels.end()) labels.push_back(entry.label);
      }
    }
    for (const std::string& label : labels) {
      std::string before = value_of(base.environment, label), after = value_of(candidate.environment, label);
      if (label == kGpuLabel && before == after && base.key.device_key != candidate.key.device_key) {
        before = base.key.device_key;  // a slice of the same GPU, another memory size
        after = candidate.key.device_key;
      }
      if (label == kClocksLabel && before == after && base.key.method != candidate.key.method) {
        before = base.key.method;
        after = candidate.key.method;
      }
      const bool known = !is_clock_setting(label) || (!before.empty() && !after.empty());
      if (before != after) note_difference(label, before, after, matters && known && !allowing_name(label).empty());
    }
    if (item.kernel_changed) {
      note_difference(fmt::format("kernel {}", item.key.kernel), base.kernel_hash, candidate.kernel_hash, true);
    }
  }

  void note_difference(const std::string& label, const std::string& base, const std::string& candidate, bool matters) {
    const auto same = [&](const EnvironmentDifference& known) {
      return known.label == label && known.base == base && known.candidate == candidate;
    };
    auto found = std::find_if(result_.differences.begin(), result_.differences.end(), same);
    if (found == result_.differences.end()) {
      result_.differences.push_back({label, base, candidate, false, allowed(label)});
      found = std::prev(result_.differences.end());
    }
    found->matters = found->matters || matters;
  }

  bool allowed(std::string_view label) const {
    const std::vector<std::string>& names = result_.settings.allow_different;
    const auto given = [&](std::string_view name) { return std::find(names.begin(), names.end(), name) != names.end(); };
    return given("all") || given(allowing_name(label));
  }

  // ---- verdicts

  void judge_pairs() {
    std::vector<GateItem> inputs;
    std::vector<ComparedItem*> judged;
    for (ComparedItem& item : result_.items) {
      if (!item.base || !item.candidate) continue;
      const std::optional<ConfigurationRow>& base = base_items()[*item.base].winner;
      const std::optional<ConfigurationRow>& candidate = candidate_items()[*item.candidate].winner;
      if (!base || !candidate || item.same_session) continue;
      const Remeasurement* again = remeasurement({*item.base, *item.candidate});
      inputs.push_back({again != nullptr ? again->base_us : base->process_medians_us,
                        again != nullptr ? again->candidate_us : candidate->process_medians_us, item.gate, again != nullptr});
      item.base_processes = inputs.back().base_us.size();
      item.candidate_processes = inputs.back().candidate_us.size();
      judged.push_back(&item);
    }
    const std::vector<Judgement> judgements = judge(inputs);
    for (std::size_t i = 0; i < judged.size(); ++i) take(judgements[i], *judged[i]);
  }

  void take(const Judgement& judgement, ComparedItem& item) {
    item.verdict = judgement.verdict;
    item.change = judgement.change;
    item.holm_p = judgement.holm_p;
    if (judgement.test) {
      item.p = judgement.test->p;
      item.change_low = judgement.test->interval.low - 1;
      item.change_high = judgement.test->interval.high - 1;
    }
    item.reason = judgement.reason;
    if (item.verdict == Verdict::regression || item.verdict == Verdict::improvement) {
      const char* how = item.verdict == Verdict::regression ? "slower" : "faster";
      if (!item.same_configuration) item.reason += "; another winner";
      else if (item.kernel_changed) item.reason += fmt::format("; the same configuration of another kernel version got {}", how);
      else item.reason += fmt::format("; the same configuration got {}", how);
      if (!item.remeasured) item.reason += clock_change(*base_items()[*item.base].winner, *candidate_items()[*item.candidate].winner);
    }
    if (item.key.objective == kEnergyObjective) item.reason += "; judged by time: " + energy_reason(item);
    if (few_processes(item)) {
      item.reason += fmt::format("; {} and {} process medians, a gate wants {} a side", item.base_processes, item.candidate_processes,
                                 kGateProcesses);
    }
  }

  // The tests of a verdict need a value of each process. Of energy a book holds the median over them alone.
  static void compare_energies(const Item& base, const Item& candidate, ComparedItem& item) {
    if (base.winner) item.base_energy_j = base.winner->energy_j;
    if (candidate.winner) item.candidate_energy_j = candidate.winner->energy_j;
    const auto usable = [](const std::optional<double>& joules) { return joules && std::isfinite(*joules) && *joules > 0; };
    if (usable(item.base_energy_j) && usable(item.candidate_energy_j) && !item.same_session) {
      item.energy_change = *item.candidate_energy_j / *item.base_energy_j - 1;
    }
  }

  static std::string energy_reason(const ComparedItem& item) {
    if (!item.energy_change) return "the books do not hold the energy of both winners";
    return "of energy the books hold one value a winner, " + plain::energies_text(item);
  }

  static bool few_processes(const ComparedItem& item) {
    const std::size_t fewer = std::min(item.base_processes, item.candidate_processes);
    return item.change && fewer < kGateProcesses;
  }

  // ---- the whole

  void sort_items() {
    const auto rank = [](const ComparedItem& item) {
      const double change = item.change.value_or(0);
      const bool by_size = item.verdict == Verdict::unchanged || item.verdict == Verdict::inconclusive;
      return std::tuple(item.verdict, by_size ? -std::abs(change) : item.verdict == Verdict::improvement ? change : -change);
    };
    std::stable_sort(result_.items.begin(), result_.items.end(),
                     [&](const ComparedItem& x, const ComparedItem& y) { return rank(x) < rank(y); });
  }

  std::int64_t count(Verdict verdict) const {
    const auto found = result_.counts.find(verdict);
    return found == result_.counts.end() ? 0 : found->second;
  }

  void summarise() {
    for (const ComparedItem& item : result_.items) ++result_.counts[item.verdict];
    find_worst();
    result_.gate_refused = result_.settings.fail_on != FailOn::never &&
                           std::any_of(result_.differences.begin(), result_.differences.end(),
                                       [](const EnvironmentDifference& difference) { return difference.matters && !difference.allowed; });
    result_.title = fmt::format("{} compared with {}", result_.candidate.side.label, result_.base.side.label);
    write_verdict_line();
    write_notes();
    result_.exit_code = exit_code();
  }

  void find_worst() {
    std::optional<std::size_t> largest;
    for (std::size_t i = 0; i < result_.items.size(); ++i) {
      const std::optional<double>& change = result_.items[i].change;
      if (!change) continue;
      if (result_.items[i].verdict == Verdict::regression) {
        largest = i;  // the first is the worst
        break;
      }
      if (!largest || std::abs(*change) > std::abs(*result_.items[*largest].change)) largest = i;
    }
    result_.worst = largest;
  }

  bool compared_any() const {
    return std::any_of(result_.items.begin(), result_.items.end(), [](const ComparedItem& item) { return item.change.has_value(); });
  }

  bool only_same_sessions() const {
    const auto same = [](const ComparedItem& item) { return item.same_session; };
    return !result_.items.empty() && std::all_of(result_.items.begin(), result_.items.end(), same);
  }

  // The candidate was tuned for it to the end, and nothing passed.
  bool lost_winner() const {
    return std::any_of(result_.items.begin(), result_.items.end(), [&](const ComparedItem& item) {
      return item.verdict == Verdict::only_base && item.candidate && candidate_items()[*item.candidate].finished;
    });
  }

  int exit_code() const {
    const FailOn fail_on = result_.settings.fail_on;
    if (fail_on == FailOn::never) return 0;
    if (result_.gate_refused) return kBadInput;
    if (count(Verdict::regression) > 0 || lost_winner()) return kNo;
    if (only_same_sessions()) return kBadInput;
    if (fail_on == FailOn::inconclusive && count(Verdict::inconclusive) + count(Verdict::only_base) > 0) return kNo;
    return compared_any() ? 0 : kBadInput;
  }

  void write_verdict_line() {
    std::string line = counts_text(result_);
    if (result_.worst) {
      const ComparedItem& item = result_.items[*result_.worst];
      line += fmt::format("; {}: {} {} {} by {}", item.verdict == Verdict::regression ? "worst" : "largest change", item.key.kernel,
                          item.key.shape(), *item.change > 0 ? "slower" : "faster", share_text(*item.change));
    }
    if (result_.gate_refused) line += "; no gate: the two sides differ in what a gate wants equal";
    result_.verdict_line = line;
  }

  void write_notes() {
    const auto few = std::count_if(result_.items.begin(), result_.items.end(), few_processes);
    if (few > 0) {
      result_.notes.push_back(fmt::format("{} of {} items have fewer than the {} process medians a side that a gate wants: small changes of them "
                                          "stay inconclusive. Tune with --finalist-processes {}, or compare with --remeasure",
                                          few, result_.items.size(), kGateProcesses, kGateProcesses));
    }
    const auto same = std::count_if(result_.items.begin(), result_.items.end(), [](const ComparedItem& item) { return item.same_session; });
    if (same > 0) {
      result_.notes.push_back(fmt::format("{} of {} items {} the same session on both sides, which says nothing about a change: {} inconclusive. "
                                          "Time them anew (tunebook tune --retime), or leave them out of the candidate (#since=...)",
                                          same, result_.items.size(), same == 1 ? "has" : "have", same == 1 ? "it is" : "they are"));
    }
    const auto by_energy = std::count_if(result_.items.begin(), result_.items.end(), [](const ComparedItem& item) {
      return item.key.objective == kEnergyObjective && item.change;
    });
    if (by_energy > 0) {
      result_.notes.push_back(fmt::format("{} of {} items were tuned for the least energy and are judged by time: of energy a book holds one value a "
                                          "winner and none a process, which allows no test. Both energies and their change are shown",
                                          by_energy, result_.items.size()));
    }
    if (!compared_any()) {
      result_.notes.push_back("no item has times of two sessions: the same kernel, problem, objective and method are needed. "
                              "tunebook report shows what a book holds");
    }
    for (const auto& [kernel, threshold] : result_.settings.kernel_thresholds) {
      const auto is_of = [&, name = &kernel](const ComparedItem& item) { return item.key.kernel == *name; };
      if (std::any_of(result_.items.begin(), result_.items.end(), is_of)) continue;
      std::set<std::string> kernels;
      for (const ComparedItem& item : result_.items) kernels.insert(item.key.kernel);
      const std::string near = nearest_word(kernel, {kernels.begin(), kernels.end()});
      result_.notes.push_back(fmt::format("--threshold {}={:g}% is of no kernel compared here{}", kernel, 100 * threshold,
                                          near.empty() ? "" : fmt::format("; did you mean {}?", near)));
    }
    if (lost_winner()) result_.notes.push_back("items that had a winner in the base have none in the candidate, as nothing passed: that fails the gate");
  }

  std::span<const Remeasurement> remeasured_;
  Comparison result_;
};

}  // namespace

std::string counts_text(const Comparison& comparison) {
  std::vector<std::string> parts;
  for (const Verdict verdict : {Verdict::regression, Verdict::improvement, Verdict::unchanged, Verdict::inconclusive, Verdict::only_base,
                                Verdict::only_candidate}) {
    const auto found = comparison.counts.find(verdict);
    if (found == comparison.counts.end() || found->second == 0) continue;
    const bool plural = found->second != 1 && (verdict == Verdict::regression || verdict == Verdict::improvement);
    parts.push_back(fmt::format("{} {}{}", found->second, verdict_name(verdict), plural ? "s" : ""));
  }
  return parts.empty() ? "nothing to compare" : fmt::format("{}", fmt::join(parts, ", "));
}

std::vector<ItemPair> pair_items(const Report& base, const Report& candidate) {
  using Key = std::array<std::string, 5>;
  const auto exact = [](const ItemKey& key) {
    return Key{key.kernel, key.problem.canonical(), key.device_key, key.method, key.objective};
  };
  const auto loose = [](const ItemKey& key) {
    return Key{key.kernel, key.problem.canonical(), "", std::string(without_clock(key.method)), key.objective};
  };
  std::vector<ItemPair> pairs;
  std::set<std::size_t> base_taken, candidate_taken;
  const auto pair_by = [&](const auto& key_of) {
    std::map<Key, std::pair<std::vector<std::size_t>, std::vector<std::size_t>>> places;
    for (std::size_t i = 0; i < base.items.size(); ++i) {
      if (!base_taken.contains(i)) places[key_of(base.items[i].key)].first.push_back(i);
    }
    for (std::size_t i = 0; i < candidate.items.size(); ++i) {
      if (!candidate_taken.contains(i)) places[key_of(candidate.items[i].key)].second.push_back(i);
    }
    for (const auto& [key, found] : places) {
      if (found.first.size() != 1 || found.second.size() != 1) continue;
      pairs.push_back({found.first.front(), found.second.front()});
      base_taken.insert(found.first.front());
      candidate_taken.insert(found.second.front());
    }
  };
  pair_by(exact);
  pair_by(loose);
  std::sort(pairs.begin(), pairs.end(), [](const ItemPair& x, const ItemPair& y) { return x.base < y.base; });
  return pairs;
}

Comparison compare(Report base, Report candidate, ComparisonSettings settings, std::span<const Remeasurement> remeasured) {
  return Comparer(std::move(base), std::move(candidate), std::move(settings), remeasured).run();
}

std::vector<ShownDifference> shown_differences(const Comparison& comparison) {
  constexpr std::size_t kOfOneLabel = 3;
  std::vector<ShownDifference> shown;
  std::set<std::string_view> labels;
  for (const EnvironmentDifference& first : comparison.differences) {
    if (!labels.insert(first.label).second) continue;
    std::size_t of_label = 0;
    for (const EnvironmentDifference& difference : comparison.differences) {
      if (difference.label != first.label) continue;
      if (++of_label <= kOfOneLabel) shown.push_back({&difference, 0});
      else ++shown.back().more;
    }
  }
  return shown;
}

std::string gate_refusal(const Comparison& comparison) {
  if (!comparison.gate_refused) {
    if (comparison.exit_code != kBadInput) return {};
    return fmt::format("nothing could be compared: no item of {} and {} has times of two sessions; name sides with the same kernel, problem, "
                       "objective and method, or only look with --fail-on never",
                       comparison.base.side.label, comparison.candidate.side.label);
  }
  std::vector<std::string> texts, names;
  for (const auto& [shown, more] : shown_differences(comparison)) {
    const EnvironmentDifference& difference = *shown;
    if (!difference.matters || difference.allowed) continue;
    const std::string name(allowing_name(difference.label));
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    const auto known = [](const std::string& value) { return value.empty() ? "not known" : value; };
    texts.push_back(fmt::format("{}: {} -> {}", difference.label, known(difference.base), known(difference.candidate)));
    if (more > 0) texts.back() += fmt::format(" and {} more", more);
  }
  return fmt::format("no gate: the two sides differ ({}). If that is meant: --allow-different {}; only to look at it: --fail-on never",
                     fmt::join(texts, "; "), fmt::join(names, ","));
}

const std::vector<std::string>& difference_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const GateLabel& gate : kGateLabels) all.emplace_back(gate.name);
    all.emplace_back(kKernelName);
    return all;
  }();
  return names;
}

void set_threshold(ComparisonSettings& settings, const std::string& text) {
  const std::size_t equals = text.find('=');
  std::string_view number = text;
  if (equals != std::string::npos) number.remove_prefix(equals + 1);
  double percent = 0;
  const auto fail = [&] {
    throw InputError(fmt::format("--threshold \"{}\": write a share in percent, for all kernels or for one: 5%, matmul=0.5%", text));
  };
  if (number.empty() || number.back() != '%' || equals == 0) fail();
  number.remove_suffix(1);
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), percent);
  if (error != std::errc{} || end != number.data() + number.size() || !(percent >= 0 && percent <= 1000)) fail();
  if (equals == std::string::npos) settings.threshold = percent / 100;
  else settings.kernel_thresholds[text.substr(0, equals)] = percent / 100;
}

void allow_differences(ComparisonSettings& settings, const std::string& text) {
  std::vector<std::string> names = difference_names();
  names.emplace_back("all");
  std::size_t start = 0;
  while (start <= text.size()) {
    const std::size_t comma = std::min(text.find(',', start), text.size());
    const std::string name = text.substr(start, comma - start);
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      const std::string near = nearest_word(name, names);
      throw InputError(fmt::format("--allow-different: there is no \"{}\"{}; there are {}", name,
                                   near.empty() ? "" : fmt::format(", did you mean {}?", near), fmt::join(names, ", ")));
    }
    settings.allow_different.push_back(name);
    start = comma + 1;
  }
}

}  // namespace tunebook::reports
