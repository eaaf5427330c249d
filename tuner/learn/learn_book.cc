#include "learn/learn_book.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <system_error>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "db/encoding.h"

namespace tunebook::learn {
namespace {

using Key = std::tuple<std::int64_t, std::int64_t, std::string, std::string>;
Key key_of(const TrainingGroup& group) {
  return {group.kernel, group.device_row, group.dtype, group.method};
}
Key key_of(const ModelRecord& model) {
  return {model.kernel, model.device, model.dtype, model.method};
}

void describe(const TimeModel& model, std::int64_t bytes, LearnedGroup& result) {
  result.problems = model.anchors.size();
  result.trials = static_cast<std::size_t>(model.trials);
  result.candidates = model.candidates.size();
  result.bytes = bytes;
  double problems = 0;
  for (const TimeModel::LossBin& bin : model.loss) {
    problems += bin.problems;
    result.expected_loss += bin.problems * bin.predicted_mean;
    result.loss_bound += bin.problems * bin.predicted_bound;
    result.nearest_loss += bin.problems * bin.nearest_mean;
  }
  if (problems > 0) {
    result.expected_loss /= problems;
    result.loss_bound /= problems;
    result.nearest_loss /= problems;
  }
}

LearnedGroup introduce(const TrainingGroup& group) {
  LearnedGroup result;
  result.kernel = group.name;
  result.kernel_hash = group.kernel_hash;
  result.device = group.device.name;
  result.dtype = group.dtype;
  result.method = group.method;
  return result;
}

// The book's model of these trials, if it has one that can be read.
bool describe_known(const ModelRecord* known, const std::string& from, const TrainingGroup& group,
                    LearnedGroup& result) {
  if (known == nullptr || known->learned_from != from) return false;
  try {
    describe(TimeModel::decode(known->body, group.spec, group.name),
             static_cast<std::int64_t>(known->body.size()), result);
  } catch (const InputError&) {
    return false;
  }
  result.state = LearnedGroup::State::unchanged;
  return true;
}

}  // namespace

const char* state_name(LearnedGroup::State state) {
  switch (state) {
    case LearnedGroup::State::learned:
      return "learned";
    case LearnedGroup::State::unchanged:
      return "unchanged";
    default:
      return "none";
  }
}

void check_kernels(const TrainingBook& book, const std::vector<std::string>& names,
                   const std::filesystem::path& path) {
  for (const std::string& name : names) {
    const bool known = std::any_of(book.groups.begin(), book.groups.end(),
                                   [&](const TrainingGroup& one) { return one.name == name; }) ||
                       std::any_of(book.unreadable.begin(), book.unreadable.end(),
                                   [&](const UnreadableGroup& one) { return one.name == name; });
    if (!known)
      throw InputError(
          fmt::format("book {}: it has no trials of a kernel '{}'; see: tunebook report {}",
                      path.string(), name, path.string()));
  }
}

LearnedBook learn_from_book(const std::filesystem::path& path, const LearnBookOptions& options) {
  const TrainingBook book = read_training(path, options.kernels);
  check_kernels(book, options.kernels, path);
  const std::vector<ModelRecord> models = Store::models_in_file(path);
  std::map<Key, const ModelRecord*> known;
  for (const ModelRecord& model : models) known.emplace(key_of(model), &model);

  LearnedBook result;
  for (const TrainingGroup& group : book.groups) {
    const auto start = std::chrono::steady_clock::now();
    LearnedGroup row = introduce(group);
    const auto old = known.find(key_of(group));
    const ModelRecord* const of_book = old == known.end() ? nullptr : old->second;
    const std::string from = learned_from(group);
    if (!describe_known(of_book, from, group, row)) {
      LearnSettings settings;
      settings.validation.threads = options.threads;
      settings.learned_utc = now_utc();
      LearnedModel learned = learn_model(group, settings);
      row.problems = learned.problems;
      row.trials = learned.trials;
      row.reason = learned.reason;
      if (learned.model) {
        ModelRecord record{group.kernel,
                           group.device_row,
                           group.dtype,
                           group.method,
                           TimeModel::kFormat,
                           learned.model->encode(),
                           learned.model->trials,
                           static_cast<std::int64_t>(learned.model->anchors.size()),
                           from,
                           settings.learned_utc};
        describe(*learned.model, static_cast<std::int64_t>(record.body.size()), row);
        row.state = LearnedGroup::State::learned;
        result.fresh.push_back(std::move(record));
      } else if (of_book != nullptr) {
        result.outdated.push_back(*of_book);
        result.outdated.back().body.clear();
      }
    }
    row.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    result.groups.push_back(std::move(row));
  }
  for (const UnreadableGroup& one : book.unreadable) {
    LearnedGroup row;
    row.kernel = one.name;
    row.kernel_hash = one.kernel_hash;
    row.reason = one.reason;
    result.groups.push_back(std::move(row));
  }
  return result;
}

bool can_write(const std::filesystem::path& path) {
  std::error_code ignored;
  const std::filesystem::path real = std::filesystem::canonical(path, ignored);
  return !ignored && access(real.c_str(), W_OK) == 0 &&
         access(real.parent_path().c_str(), W_OK) == 0;
}

}  // namespace tunebook::learn
