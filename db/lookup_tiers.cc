#include "db/lookup_tiers.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "db/encoding.h"
#include "db/lookup_check.h"
#include "db/lookup_limits.h"
#include "db/lookup_nearest.h"

namespace tunebook {
namespace {

// A question that no version of the kernel understands is a mistake of the caller, not "nothing known".
void check_understood(const Question& question) {
  const bool understood =
      std::any_of(question.fits.begin(), question.fits.end(), [](const KernelFit& fit) { return fit.problem.has_value(); });
  if (!question.fits.empty() && !understood) {
    throw std::invalid_argument(question.fits.front().complaint);
  }
}

bool same_architecture(const Device& asked, const Device& other) {
  if (asked.kind != other.kind) {
    return false;
  }
  return asked.kind == "cpu" ? !asked.instruction_set.empty() && asked.instruction_set == other.instruction_set
                             : asked.compute_capability != 0 && asked.compute_capability == other.compute_capability;
}

// Goes through the tiers and remembers the first candidate that is usable.
class TierWalk {
 public:
  TierWalk(const Question& question, const RowSource& source, const Observer& observer)
      : question_(question), source_(source), observer_(observer) {}

  // Finds the model of time that counts; near and far answers carry its expected loss from here on.
  bool find_prediction(const ModelSource& models) {
    Prediction::Found found = Prediction::find(question_, models);
    complete_ = complete_ && found.complete;
    prediction_ = std::move(found.prediction);
    damaged_ = std::move(found.damaged);
    return complete_;
  }
  // Whether the nearest problem's winner is expected to lose less than what the model puts first.
  bool nearest_is_better() const {
    return prediction_ && prediction_->loss().nearest_mean < prediction_->loss().predicted_mean;
  }

  // Each of these returns true when the walk is over.
  bool exact() {
    return get_rows(question_.same, same_rows_) && each_part([&](std::size_t part) { return exact_of(part); });
  }
  bool near() {
    return each_part([&](std::size_t part) { return up_to_cap(*pool(same_, same_rows_, part), Tier::near); });
  }
  bool same_architecture_tier() {
    return get_rows(question_.related, related_rows_) &&
           each_part([&](std::size_t part) { return up_to_cap(*pool(related_, related_rows_, part), Tier::same_architecture); });
  }
  // Beyond the cap, but on this device only.
  bool far_here() {
    return each_part([&](std::size_t part) {
      return up_to(*pool(same_, same_rows_, part), std::nullopt, Tier::far);
    });
  }
  bool predicted();
  // Models that cannot be used, for people; last of all.
  bool damaged();
  bool far() {
    return each_part([&](std::size_t part) {
      return up_to(*pool(same_, same_rows_, part), std::nullopt, Tier::far) ||
             up_to(*pool(related_, related_rows_, part), std::nullopt, Tier::far);
    });
  }
  bool preset_default();

  Evaluation result() { return {complete_, std::move(answer_)}; }
  bool complete() const { return complete_; }

 private:
  // One choice of a version's preset `default`; true when the walk is over.
  bool preset_choice(const KernelVersion& version, const KernelFit& fit,
                     const DefaultChoice& choice);

  // Rows of the asked hash are one part, the others the second.
  static constexpr std::size_t kParts = 2;
  using Pools = std::array<std::unique_ptr<NearestFirst>, kParts>;

  template <class Body>
  static bool each_part(Body&& body) {
    for (std::size_t part = 0; part < kParts; ++part) {
      if (body(part)) {
        return true;
      }
    }
    return false;
  }

  std::size_t part_of(std::uint32_t version) const {
    const std::string& asked = question_.query->kernel_hash;
    return !asked.empty() && (*question_.versions)[version].hash == asked ? 0 : 1;
  }

  // False if some are not at hand.
  bool get_rows(const std::vector<const KnownDevice*>& devices, std::vector<const DeviceRows*>& rows) {
    for (const KnownDevice* const device : devices) {
      const DeviceRows* const of_device = source_(*device);
      if (of_device == nullptr) {
        complete_ = false;
        return false;
      }
      rows.push_back(of_device);
    }
    return true;
  }

  bool asked_for(const DeviceRows& rows, std::uint32_t objective, std::uint32_t method) const {
    return rows.name(objective) == question_.query->objective && method_matches(rows.name(method), question_.query->method);
  }

  // The group's rows, if the asked problem differs from theirs in sizes only.
  std::optional<NearestFirst::Member> member(const DeviceRows& rows, const DeviceRows::Group& group) const {
    const std::optional<Problem>& asked = question_.fits[group.version].problem;
    if (!asked || !asked_for(rows, group.objective, group.method)) {
      return std::nullopt;
    }
    NearestFirst::Member result{&rows, &group, {}};
    std::size_t category = 0;
    for (const Dimension& dimension : (*question_.versions)[group.version].spec->dimensions) {
      const Value& value = asked->at(dimension.name);
      if (!dimension.categorical) {
        result.asked_sizes.push_back(std::get<std::int64_t>(value));
      } else if (std::get<std::string>(value) != group.categories[category++]) {
        return std::nullopt;
      }
    }
    return result;
  }

  NearestFirst* pool(Pools& pools, const std::vector<const DeviceRows*>& all_rows, std::size_t part) {
    if (pools[part] == nullptr) {
      std::vector<NearestFirst::Member> members;
      for (const DeviceRows* const rows : all_rows) {
        for (const DeviceRows::Group& group : rows->groups()) {
          if (part_of(group.version) == part) {
            if (std::optional<NearestFirst::Member> found = member(*rows, group)) {
              members.push_back(std::move(*found));
            }
          }
        }
      }
      pools[part] = std::make_unique<NearestFirst>(std::move(members));
    }
    return pools[part].get();
  }

  // Winners of this very problem; those of versions without a readable declaration are among them.
  bool exact_of(std::size_t part) {
    std::vector<NearestFirst::Pick> picks;
    NearestFirst& nearest = *pool(same_, same_rows_, part);
    for (const NearestFirst::Pick* pick = nearest.peek(); pick != nullptr && pick->distance == 0; pick = nearest.peek()) {
      picks.push_back(*pick);
      nearest.pop();
    }
    for (const DeviceRows* const rows : same_rows_) {
      for (const std::uint32_t index : rows->undeclared()) {
        const DeviceRows::Row& row = rows->rows()[index];
        const std::optional<Problem>& asked = question_.fits[row.version].problem;
        if (part_of(row.version) == part && asked && rows->text(row.problem) == asked->canonical() &&
            asked_for(*rows, row.objective, row.method)) {
          picks.push_back({0, 0, rows, index});
        }
      }
    }
    std::stable_sort(picks.begin(), picks.end(), [](const NearestFirst::Pick& x, const NearestFirst::Pick& y) {
      return newer_session(*x.rows, x.row, *y.rows, y.row);
    });
    return std::any_of(picks.begin(), picks.end(), [&](const NearestFirst::Pick& pick) { return consider(Tier::exact, pick); });
  }

  bool up_to(NearestFirst& nearest, std::optional<double> cap, Tier tier) {
    for (const NearestFirst::Pick* pick = nearest.peek(); pick != nullptr && (!cap || pick->distance <= *cap); pick = nearest.peek()) {
      const NearestFirst::Pick taken = *pick;
      nearest.pop();
      if (consider(tier, taken)) {
        return true;
      }
    }
    return false;
  }
  bool up_to_cap(NearestFirst& nearest, Tier tier) { return up_to(nearest, question_.near_cap, tier); }

  bool is_same(const DeviceRows& rows) const {
    return std::find(same_rows_.begin(), same_rows_.end(), &rows) != same_rows_.end();
  }
  // The device that the configuration would run on, for a row of this tuned device.
  Device actual(const DeviceRows& rows) const {
    return is_same(rows) || !question_.limits_known ? actual_device(question_.query->device, &rows.device().device) : question_.device;
  }

  bool consider(Tier tier, const NearestFirst::Pick& pick) {
    const DeviceRows& rows = *pick.rows;
    const DeviceRows::Row& row = rows.rows()[pick.row];
    const KernelVersion& version = (*question_.versions)[row.version];
    const BlockNeeds needs{std::nullopt, row.registers, row.shared_bytes};
    Verdict verdict;
    Answer candidate;
    try {
      candidate = to_answer(question_, tier, pick.distance, rows, row);
      if (prediction_ && (tier == Tier::near || tier == Tier::far) && is_same(rows)) {
        candidate.expected_loss = prediction_->loss().nearest_mean;
      }
      if (version.spec == nullptr) {
        // Nothing to evaluate; but it was found valid for this problem on this device when it was tuned.
        const std::string violated = block_limit_violated(needs, actual(rows).limits);
        verdict = {violated.empty() ? Obstacle::none : Obstacle::limit, violated};
      } else {
        Configuration configuration;
        for (const auto& [name, value] : candidate.configuration) {
          configuration.set(name, value);
        }
        verdict = check_candidate(*version.spec, *question_.fits[row.version].problem, configuration, actual(rows), needs);
      }
    } catch (const InputError& error) {
      verdict = {Obstacle::unreadable, error.what()};  // no answer, but others may be
    }
    return conclude(std::move(candidate), std::move(verdict));
  }

  // True when the walk is over.
  bool conclude(Answer candidate, Verdict verdict) {
    if (verdict.usable() && answer_ == nullptr) {
      answer_ = std::make_shared<const Answer>(candidate);
    } else if (verdict.usable()) {
      verdict = {Obstacle::not_needed, "a better candidate was found"};
    }
    if (observer_ == nullptr) {
      return answer_ != nullptr;
    }
    return !observer_({std::move(candidate), true, verdict.obstacle, std::move(verdict.reason)});
  }

  const Question& question_;
  const RowSource& source_;
  const Observer observer_;
  std::vector<const DeviceRows*> same_rows_, related_rows_;
  Pools same_, related_;
  bool complete_ = true;
  std::optional<Prediction> prediction_;
  std::vector<Prediction::Damaged> damaged_;
  std::shared_ptr<const Answer> answer_;
};

bool TierWalk::predicted() {
  if (!prediction_) {
    return false;
  }
  if (observer_ == nullptr) {
    std::optional<Answer> first = prediction_->first();
    return first && conclude(std::move(*first), Verdict{});
  }
  bool over = false;
  std::optional<double> first_loss;
  prediction_->each([&](Answer candidate, const PreparedModel::Scored& scored) {
    auto [obstacle, reason] = prediction_->obstacle(scored.candidate);
    const double loss = Prediction::predicted_loss(scored.score);
    if (obstacle == Obstacle::none && !first_loss) {
      first_loss = loss;
      over = conclude(std::move(candidate), Verdict{});
      return !over;
    }
    // What was lost in cross-validation is known of first choices only.
    candidate.expected_loss.reset();
    candidate.loss_bound.reset();
    if (obstacle == Obstacle::none) {
      obstacle = Obstacle::not_needed;
      reason = fmt::format("the model predicts a loss of {:.1f} %, of its first choice {:.1f} %", 100 * loss,
                           100 * *first_loss);
    }
    over = !observer_({std::move(candidate), true, obstacle, std::move(reason)});
    return !over;
  });
  return over;
}

bool TierWalk::damaged() {
  for (const Prediction::Damaged& one : damaged_) {
    Answer candidate;
    candidate.tier = Tier::predicted;
    candidate.device = to_device_key(one.device->device);
    candidate.kernel_hash = (*question_.versions)[one.model->version].hash;
    candidate.objective = "time";
    candidate.method = one.model->method;
    if (!observer_({std::move(candidate), true, Obstacle::unreadable, one.model->damage})) {
      return true;
    }
  }
  return false;
}

// What was recorded of the preset's block: on the asked device, else on its architecture, else on any; the most of each.
BlockNeeds preset_needs(const Question& question, const KernelVersion& version,
                        std::size_t choice) {
  const auto rank = [&](std::int64_t device) {
    const auto among = [&](const std::vector<const KnownDevice*>& devices) {
      return std::any_of(devices.begin(), devices.end(), [&](const KnownDevice* one) { return one->row == device; });
    };
    return among(question.same) ? 0 : among(question.related) ? 1 : 2;
  };
  BlockNeeds needs;
  if (choice >= version.preset_needs.size()) {
    return needs;
  }
  int best = 3;
  for (const PresetNeeds& recorded : version.preset_needs[choice]) {
    const int its = rank(recorded.device_row);
    if (its < best) {
      best = its;
      needs = {};
    }
    if (its == best) {
      needs.registers_per_thread = std::max(needs.registers_per_thread, recorded.registers);
      needs.shared_bytes = std::max(needs.shared_bytes, recorded.shared_bytes);
    }
  }
  return needs;
}

bool TierWalk::preset_default() {
  // Of the book's versions only one counts, the asked one or else the newest: an older preset may name parameters that are gone.
  const std::vector<KernelVersion>& versions = *question_.versions;
  std::vector<std::size_t> counting;
  const auto in_book = [](const KernelVersion& version) { return version.row >= 0 && version.spec != nullptr; };
  std::optional<std::size_t> chosen;
  for (std::size_t i = 0; i < versions.size(); ++i) {
    if (in_book(versions[i]) && (!chosen || (part_of(static_cast<std::uint32_t>(i)) == 0))) {
      chosen = i;
    }
  }
  if (chosen) {
    counting.push_back(*chosen);
  }
  for (std::size_t i = 0; i < versions.size(); ++i) {
    if (versions[i].row < 0) {
      counting.push_back(i);
    }
  }
  for (const std::size_t i : counting) {
    const KernelSpec& spec = *versions[i].spec;
    const KernelFit& fit = question_.fits[i];
    const std::vector<const DefaultChoice*> choices =
        fit.problem ? spec.default_choices_for(*fit.problem, question_.device)
                    : std::vector{&spec.default_choices.back()};
    for (const DefaultChoice* const choice : choices) {
      if (preset_choice(versions[i], fit, *choice)) {
        return true;
      }
    }
  }
  return false;
}

bool TierWalk::preset_choice(const KernelVersion& version, const KernelFit& fit,
                             const DefaultChoice& choice) {
  const Configuration& preset = *version.spec->find_preset(choice.preset);
  const BlockNeeds needs = preset_needs(
      question_, version, static_cast<std::size_t>(&choice - version.spec->default_choices.data()));
  Answer candidate;
  candidate.tier = Tier::preset_default;
  candidate.configuration = preset.items();
  candidate.device.kind.clear();  // it was tuned nowhere
  candidate.stale = staleness(*question_.query, version.hash);
  candidate.kernel_hash = version.hash;
  candidate.registers_per_thread = needs.registers_per_thread;
  candidate.shared_bytes = needs.shared_bytes;
  Verdict verdict =
      fit.problem ? check_candidate(*version.spec, *fit.problem, preset, question_.device, needs)
                  : Verdict{Obstacle::declaration, fit.complaint};
  return conclude(std::move(candidate), std::move(verdict));
}

}  // namespace

Stale staleness(const Query& query, const std::string& hash) {
  if (query.kernel_hash.empty() || hash.empty()) {
    return Stale::unknown;
  }
  return query.kernel_hash == hash ? Stale::no : Stale::yes;
}

bool method_matches(const std::string& method, const std::string& asked) {
  return asked.empty() || method == asked ||
         (method.size() > asked.size() && method[asked.size()] == '/' && std::string_view(method).substr(0, asked.size()) == asked);
}

Question make_question(const Query& query, const std::vector<KernelVersion>& versions, const std::vector<KnownDevice>& devices,
                       double near_cap) {
  Question question;
  question.query = &query;
  question.versions = &versions;
  question.near_cap = near_cap;
  for (const KernelVersion& version : versions) {
    question.fits.push_back(fit_problem(version, query.problem));
  }
  check_understood(question);
  for (const KnownDevice& known : devices) {
    if (same_identity(query.device, known.device)) {
      question.same.push_back(&known);
    }
  }
  // A GPU known by name only has the architecture and the limits that the book has of it.
  question.device = actual_device(query.device, question.same.empty() ? nullptr : &question.same.front()->device);
  question.limits_known = !question.same.empty() || question.device.kind == "cuda";
  for (const KnownDevice& known : devices) {
    if (!same_identity(query.device, known.device) && same_architecture(question.device, known.device)) {
      question.related.push_back(&known);
    }
  }
  return question;
}

Answer to_answer(const Question& question, Tier tier, double distance, const DeviceRows& rows, const DeviceRows::Row& row) {
  const KernelVersion& version = (*question.versions)[row.version];
  std::vector<std::string> dimensions;
  if (version.spec != nullptr) {
    for (const Dimension& dimension : version.spec->dimensions) {
      dimensions.push_back(dimension.name);
    }
  }
  Answer answer;
  answer.tier = tier;
  answer.distance = distance;
  answer.problem = read_values(std::string(rows.text(row.problem)), dimensions, "problem in the book").items();
  answer.device = to_device_key(rows.device().device);
  answer.median_us = row.median_us;
  answer.ci_low_us = row.ci_low_us;
  answer.ci_high_us = row.ci_high_us;
  answer.stale = staleness(*question.query, version.hash);
  answer.session = rows.text(row.session);
  answer.tuned_at_utc = rows.text(row.finished_utc);
  answer.kernel_hash = version.hash;
  answer.objective = rows.name(row.objective);
  answer.method = rows.name(row.method);
  answer.registers_per_thread = row.registers;
  answer.shared_bytes = row.shared_bytes;
  answer.configuration =
      read_values(std::string(rows.configuration(row)), version.parameter_order, "configuration in the book").items();
  return answer;
}

Evaluation evaluate_exact(const Question& question, const RowSource& rows) {
  TierWalk walk(question, rows, nullptr);
  walk.exact();
  return walk.result();
}

Evaluation evaluate(const Question& question, const Sources& sources, const Observer& observer) {
  TierWalk walk(question, sources.rows, observer);
  if (walk.exact() || !walk.complete() || !walk.find_prediction(sources.models)) {
    return walk.result();
  }
  const bool over = (walk.nearest_is_better() && (walk.near() || walk.far_here())) || walk.predicted() ||
                    walk.near() || walk.same_architecture_tier();
  if (!over && walk.complete() && !walk.far() && !walk.preset_default() && observer != nullptr) {
    walk.damaged();
  }
  return walk.result();
}

}  // namespace tunebook
