#include <stdlib.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <system_error>

#include <fmt/format.h>

#include "core/error.h"
#include "db/lookup_limits.h"
#include "db/publish.h"
#include "learn/learn_book.h"
#include "learn/quality.h"
#include "tunebook/lookup.h"

namespace tunebook::learn {
namespace {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "tunebook-quality-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) {
      throw EnvironmentError(fmt::format("{}: no temporary folder can be made: {}; set TMPDIR",
                                         pattern, std::strerror(errno)));
    }
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::filesystem::path file(const char* name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

Configuration as_configuration(const LookupValues& values) {
  Configuration result;
  for (const auto& [name, value] : values) result.set(name, value);
  return result;
}

Query query_for(const TrainingGroup& group, const Problem& problem) {
  Query query;
  query.kernel = group.name;
  for (const auto& [name, value] : problem.items()) query.problem.emplace_back(name, value);
  query.device = to_device_key(group.device);
  query.kernel_hash = group.kernel_hash;
  query.method = group.method;
  return query;
}

// What the truth's book has timed.
class Truth {
 public:
  explicit Truth(const TrainingGroup& group) : rows_(group) {
    for (std::uint32_t i = 0; i < group.configurations.size(); ++i)
      numbers_.emplace(group.configurations[i].canonical(), i);
  }
  const TrainingRows& rows() const { return rows_; }
  // The share of the best speed that a configuration has on an anchor's problem.
  std::optional<double> share(std::size_t anchor, const Configuration& configuration) const {
    const auto number = numbers_.find(configuration.canonical());
    if (number == numbers_.end()) return std::nullopt;
    const auto [first, end] = rows_.rows_of(anchor);
    for (std::size_t row = first; row < end; ++row) {
      if (rows_.rows()[row].configuration == number->second)
        return 1 - static_cast<double>(rows_.rows()[row].loss);
    }
    return std::nullopt;
  }

 private:
  TrainingRows rows_;
  std::map<std::string, std::uint32_t> numbers_;
};

QualityQuestion ask(const Lookup& with_models, const Lookup& without, const Truth& truth,
                    std::size_t anchor) {
  const TrainingGroup& group = truth.rows().group();
  const TrainingRows::AnchorPoint& point = truth.rows().anchors()[anchor];
  QualityQuestion result;
  result.problem = group.problems[point.problem];
  result.tuned = group.configurations[point.winner];
  result.tuned_us = point.best_us;
  const Query query = query_for(group, result.problem);
  if (const auto best = with_models.best(query)) {
    result.tier = tier_name(best->tier);
    result.distance = best->distance;
    result.answer = as_configuration(best->configuration);
    result.expected_loss = best->expected_loss;
    result.loss_bound = best->loss_bound;
    result.answered = truth.share(anchor, result.answer);
    for (const Answer& one : with_models.ranked(query, 3)) {
      if (const auto share = truth.share(anchor, as_configuration(one.configuration))) {
        result.best_of_three = std::max(result.best_of_three.value_or(*share), *share);
      }
    }
  }
  if (const auto near = without.best(query))
    result.nearest = truth.share(anchor, as_configuration(near->configuration));
  if (const Configuration* const preset = group.spec.find_preset("default"))
    result.preset = truth.share(anchor, *preset);
  return result;
}

}  // namespace

std::vector<QualityGroup> quality_by_truth(const std::filesystem::path& book,
                                           const std::filesystem::path& truth_path,
                                           const QualityOptions& options) {
  const TrainingBook truth = read_training(truth_path, options.kernels);
  check_kernels(truth, options.kernels, truth_path);
  const TemporaryFolder folder;
  {
    LearnBookOptions what;
    what.threads = options.threads;
    LearnedBook learned = learn_from_book(book, what);
    PublishOptions publish;
    publish.learned = std::move(learned.fresh);
    publish.outdated = std::move(learned.outdated);
    publish_book(book, folder.file("models.db"), publish);
    publish.models = false;
    publish_book(book, folder.file("plain.db"), publish);
  }
  const Lookup with_models(folder.file("models.db").string()),
      without(folder.file("plain.db").string());
  std::vector<QualityGroup> result;
  for (const TrainingGroup& group : truth.groups) {
    QualityGroup one{group.name, group.kernel_hash, group.dtype, group.method, group.device, 0, {},
                     ""};
    const Truth times(group);
    for (std::size_t anchor = 0; anchor < times.rows().anchors().size(); ++anchor) {
      QualityQuestion question = ask(with_models, without, times, anchor);
      if (question.tier == tier_name(Tier::exact)) {
        ++one.known;
      } else {
        one.questions.push_back(std::move(question));
      }
    }
    if (one.questions.empty())
      one.reason = "every problem of the truth is tuned in the book, or has no verified time";
    result.push_back(std::move(one));
  }
  return result;
}

}  // namespace tunebook::learn
