#include "db/lookup_predicted.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <tuple>
#include <utility>

#include "core/error.h"
#include "core/hash.h"
#include "db/encoding.h"
#include "db/lookup_check.h"
#include "db/lookup_limits.h"
#include "db/lookup_nearest.h"
#include "db/lookup_tiers.h"
#include "db/schema.h"

namespace tunebook {
namespace {

// A predicted loss of 1 would be an endless time.
constexpr double kMaxPredictedLoss = 0.999;

std::shared_ptr<const PreparedModel> prepare(const sqlite::Statement::Run& row,
                                             const KernelVersion& version, const std::string& dtype,
                                             const std::string& method, const std::string& where) {
  const std::string_view body = row.text_view(3);
  if (version.spec == nullptr)
    throw InputError(where + ": its kernel's declaration cannot be read here");
  if (const Hash hash = to_hash(content_hash(body)); row.text_view(2) != as_blob(hash).bytes) {
    throw InputError(where + ": its bytes are damaged; learn it again: tunebook learn");
  }
  TimeModel model = TimeModel::decode(body, *version.spec, where);
  if (model.dtype != dtype || model.method != method) {
    throw InputError(where +
                     ": it is for another data type or method than its row says; learn it again: "
                     "tunebook learn");
  }
  return std::make_shared<const PreparedModel>(std::move(model), version.spec);
}

std::string asked_dtype(const KernelVersion& version, const Problem& problem) {
  const Value* const dtype =
      version.spec == nullptr || version.spec->find_dimension("dtype") == nullptr
          ? nullptr
          : problem.find("dtype");
  const auto* const text = dtype == nullptr ? nullptr : std::get_if<std::string>(dtype);
  return text == nullptr ? "" : *text;
}

// True if model x counts before model y.
bool counts_before(const Question& question, const BookModel& x, const BookModel& y) {
  const auto rank = [&](const BookModel& model) {
    const std::string& asked = question.query->kernel_hash;
    const bool other = asked.empty() || (*question.versions)[model.version].hash != asked;
    return std::tuple(other, model.version, -model.row);  // versions: the newest first
  };
  return rank(x) < rank(y);
}

// How many times `anchor`'s work the asked problem is; 0: cannot be told.
double ratio(const Expression& work, const KernelSpec::Scope& asked,
             const KernelSpec::Scope& anchor) {
  if (work.empty()) return 0;
  try {
    const double more = work.evaluate_real(asked), less = work.evaluate_real(anchor);
    return more > 0 && less > 0 && std::isfinite(more / less) ? more / less : 0;
  } catch (const ExpressionError&) {
    return 0;
  }
}

}  // namespace

std::shared_ptr<const DeviceModels> read_models(sqlite::Database& book, std::int64_t book_version,
                                                const std::vector<KernelVersion>& versions,
                                                const KnownDevice& device,
                                                const std::string& dtype) {
  auto models = std::make_shared<DeviceModels>();
  if (book_version < kModelVersion) return models;
  sqlite::Statement select(book,
                           "SELECT id, method, content_hash, body FROM model "
                           "WHERE kernel_id = ?1 AND device_id = ?2 AND dtype = ?3 ORDER BY id");
  for (std::uint32_t version = 0; version < versions.size(); ++version) {
    if (versions[version].row < 0) continue;
    sqlite::Statement::Run row = select.run(versions[version].row, device.row, dtype);
    while (row.next()) {
      BookModel model;
      model.row = row.integer(0);
      model.version = version;
      model.method = row.text(1);
      const std::string where = fmt::format("model {} in book {}", model.row, book.name());
      try {
        model.prepared = prepare(row, versions[version], dtype, model.method, where);
      } catch (const InputError& error) {
        model.damage = error.what();
      }
      models->push_back(std::move(model));
    }
  }
  return models;
}

Prediction::Found Prediction::find(const Question& question, const ModelSource& source) {
  Found found;
  if (question.query->objective != "time") return found;
  const BookModel* best = nullptr;
  const KnownDevice* its_device = nullptr;
  for (const KnownDevice* const device : question.same) {
    std::vector<std::string> looked;
    for (std::size_t i = 0; i < question.fits.size(); ++i) {
      const std::optional<Problem>& problem = question.fits[i].problem;
      if ((*question.versions)[i].row < 0 || !problem) continue;
      const std::string dtype = asked_dtype((*question.versions)[i], *problem);
      if (std::find(looked.begin(), looked.end(), dtype) != looked.end()) continue;
      looked.push_back(dtype);
      const DeviceModels* const models = source(*device, dtype);
      if (models == nullptr) {
        found.complete = false;
        return found;
      }
      for (const BookModel& model : *models) {
        // Another version may take another dtype for the one that is not given.
        const std::optional<Problem>& its_problem = question.fits[model.version].problem;
        if (!its_problem ||
            asked_dtype((*question.versions)[model.version], *its_problem) != dtype ||
            !method_matches(model.method, question.query->method)) {
          continue;
        }
        if (model.prepared == nullptr) {
          found.damaged.push_back({&model, device});
        } else if (best == nullptr || counts_before(question, model, *best)) {
          best = &model;
          its_device = device;
        }
      }
    }
  }
  if (best != nullptr) found.prediction = Prediction(question, *best, *its_device);
  return found;
}

Prediction::Prediction(const Question& question, const BookModel& model, const KnownDevice& device)
    : question_(&question),
      model_(&model),
      known_(&device),
      problem_(&*question.fits[model.version].problem),
      device_(actual_device(question.query->device, &device.device)) {
  find_anchor();
  scaled_us_ = anchor_->best_us * work_ratio();
}

void Prediction::find_anchor() {
  const TimeModel& model = model_->prepared->model();
  const std::vector<Dimension>& dimensions = model_->prepared->spec().dimensions;
  std::vector<std::int64_t> asked, sizes;
  for (const Dimension& dimension : dimensions) {
    if (!dimension.categorical)
      asked.push_back(std::get<std::int64_t>(problem_->at(dimension.name)));
  }
  auto best = std::tuple(true, std::numeric_limits<double>::infinity(), 0.0);
  for (const TimeModel::Anchor& anchor : model.anchors) {
    sizes.clear();
    bool other = false;
    for (std::size_t i = 0; i < dimensions.size(); ++i) {
      if (dimensions[i].categorical)
        other = other || anchor.problem[i] != problem_->at(dimensions[i].name);
      else
        sizes.push_back(std::get<std::int64_t>(anchor.problem[i]));
    }
    const auto now = std::tuple(other, problem_distance(asked, sizes), problem_volume(sizes));
    if (anchor_ == nullptr || now < best) {
      anchor_ = &anchor;
      best = now;
    }
  }
  distance_ = std::get<1>(best);
  loss_ = std::get<0>(best) ? &model.loss.back() : &model.loss_at(distance_);
}

double Prediction::work_ratio() const {
  const KernelSpec& spec = model_->prepared->spec();
  Problem tuned;
  std::vector<std::int64_t> asked_sizes, tuned_sizes;
  for (std::size_t i = 0; i < spec.dimensions.size(); ++i) {
    const Dimension& dimension = spec.dimensions[i];
    tuned.set(dimension.name, anchor_->problem[i]);
    if (dimension.categorical) continue;
    asked_sizes.push_back(std::get<std::int64_t>(problem_->at(dimension.name)));
    tuned_sizes.push_back(std::get<std::int64_t>(anchor_->problem[i]));
  }
  const KernelSpec::Scope asked = spec.scope(*problem_, device_),
                          anchor = spec.scope(tuned, device_);
  const double most =
      std::max(ratio(spec.work.flops, asked, anchor), ratio(spec.work.bytes, asked, anchor));
  return most > 0 ? most : problem_volume(asked_sizes) / problem_volume(tuned_sizes);
}

double Prediction::predicted_loss(std::int64_t score) {
  return std::clamp(static_cast<double>(score) * TimeModel::kLossUnit, 0.0, kMaxPredictedLoss);
}

Answer Prediction::answer(const PreparedModel::Scored& scored) const {
  const TimeModel& model = model_->prepared->model();
  const TimeModel::Candidate& candidate = model.candidates[scored.candidate];
  Answer answer;
  answer.tier = Tier::predicted;
  answer.distance = distance_;
  answer.configuration = model_->prepared->configuration(scored.candidate).items();
  const std::vector<Dimension>& dimensions = model_->prepared->spec().dimensions;
  for (std::size_t i = 0; i < dimensions.size(); ++i) {
    answer.problem.emplace_back(dimensions[i].name, anchor_->problem[i]);
  }
  answer.device = to_device_key(known_->device);
  const std::string& hash = (*question_->versions)[model_->version].hash;
  answer.stale = staleness(*question_->query, hash);
  answer.tuned_at_utc = model.learned_utc;
  answer.kernel_hash = hash;
  answer.objective = "time";
  answer.method = model.method;
  if (candidate.registers >= 0) answer.registers_per_thread = candidate.registers;
  if (candidate.shared_bytes >= 0) answer.shared_bytes = candidate.shared_bytes;
  answer.expected_loss = loss_->predicted_mean;
  answer.loss_bound = loss_->predicted_bound;
  answer.predicted_us = scaled_us_ / (1 - predicted_loss(scored.score));
  return answer;
}

std::pair<Obstacle, std::string> Prediction::obstacle(std::size_t candidate) const {
  const TimeModel::Candidate& its = model_->prepared->model().candidates[candidate];
  BlockNeeds needs;
  if (its.registers >= 0) needs.registers_per_thread = its.registers;
  if (its.shared_bytes >= 0) needs.shared_bytes = its.shared_bytes;
  Verdict verdict = check_candidate(model_->prepared->spec(), *problem_,
                                    model_->prepared->configuration(candidate), device_, needs);
  return {verdict.obstacle, std::move(verdict.reason)};
}

std::optional<Answer> Prediction::first() const {
  const auto usable = [&](std::size_t candidate) {
    return obstacle(candidate).first == Obstacle::none;
  };
  const auto found = model_->prepared->first(*problem_, device_, usable);
  return found ? std::optional(answer(*found)) : std::nullopt;
}

void Prediction::each(const Observer& observer) const {
  for (const PreparedModel::Scored& scored : model_->prepared->all(*problem_, device_)) {
    if (!observer(answer(scored), scored)) return;
  }
}

}  // namespace tunebook
