#include "cli/learned_model.h"

#include <algorithm>
#include <exception>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"
#include "db/encoding.h"
#include "db/store.h"
#include "db/training.h"
#include "learn/adviser.h"
#include "learn/learn_model.h"

namespace tunebook::cli {
namespace {

// Advice needs no losses; fewer folds than two cannot be had.
constexpr std::size_t kAdviceFolds = 2;

// Folds are learned side by side; more than eight do not exist. The model does not depend on it.
std::size_t threads() { return std::clamp(std::thread::hardware_concurrency(), 1u, 8u); }

bool is_of(const ModelRecord& model, const TrainingGroup& group) {
  return model.kernel == group.kernel && model.device == group.device_row &&
         model.dtype == group.dtype && model.method == group.method;
}

// The book's model of exactly these trials, if it can be read.
std::optional<TimeModel> kept_model(const std::filesystem::path& book, const TrainingGroup& group,
                                    const std::string& from) {
  for (const ModelRecord& model : Store::models_in_file(book)) {
    if (!is_of(model, group) || model.learned_from != from) continue;
    try {
      return TimeModel::decode(model.body, group.spec, book.string());
    } catch (const InputError&) {  // damaged: it is learned anew
    }
  }
  return std::nullopt;
}

void keep_model(const std::filesystem::path& book, const TrainingGroup& group,
                const std::string& from, const TimeModel& model) {
  Store(book).replace_models(
      {{group.kernel, group.device_row, group.dtype, group.method, TimeModel::kFormat,
        model.encode(), model.trials, static_cast<std::int64_t>(model.anchors.size()), from,
        model.learned_utc}});
}

}  // namespace

std::optional<LearnedTimes> learned_model(const ModelQuestion& question, LearnPurpose purpose) {
  TrainingBook book = read_training(question.book, {question.kernel});
  const std::string device = question.device.key();
  const auto found =
      std::find_if(book.groups.begin(), book.groups.end(), [&](const TrainingGroup& group) {
        return group.kernel_hash == question.kernel_hash && group.device.key() == device &&
               group.dtype == question.dtype && group.method == question.method;
      });
  if (found == book.groups.end()) return std::nullopt;
  const std::string from = learn::learned_from(*found);
  if (auto kept = kept_model(question.book, *found, from))
    return LearnedTimes{found->spec, std::move(*kept)};
  learn::LearnSettings settings;
  settings.learned_utc = now_utc();
  settings.validation.threads = threads();
  if (purpose == LearnPurpose::advice) settings.validation.folds = kAdviceFolds;
  std::optional<TimeModel> model = learn::learn_model(*found, settings).model;
  if (!model) return std::nullopt;
  if (purpose == LearnPurpose::kept) keep_model(question.book, *found, from, *model);
  return LearnedTimes{std::move(found->spec), std::move(*model)};
}

Adviser book_adviser(const std::filesystem::path& book, const TuneSubject& subject,
                     const ExecutorIdentity& place) {
  const Value* dtype = subject.problem.find("dtype");
  ModelQuestion question{book,
                         subject.kernel,
                         subject.kernel_hash,
                         place.device,
                         dtype != nullptr ? to_text(*dtype) : "",
                         place.method};
  return [question, problem = subject.problem](const SearchSpace& space,
                                               std::size_t count) -> std::vector<Configuration> {
    try {
      auto learned = learned_model(question, LearnPurpose::advice);
      if (!learned) return {};
      learn::Adviser adviser(std::move(learned->model), std::move(learned->spec), problem,
                             question.device);
      return adviser.first_to_try(space, count);
    } catch (const std::exception& error) {
      fmt::print(stderr, "note: the book's trials predict nothing here: {}\n", error.what());
      return {};
    }
  };
}

}  // namespace tunebook::cli
