#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/device.h"
#include "core/problem.h"
#include "core/spec.h"
#include "db/time_model.h"

namespace tunebook {

// A model of time, made ready to answer many questions. Immutable but for a cache that has a lock
// of its own: shared between threads.
//
// What makes it fast: candidates that agree in the parameters that an expression reads share its
// value; expressions that read no size are evaluated once per device and categories; nodes of trees
// that all candidates pass the same way are folded away per question; and candidates that cannot
// win any more are left out as the trees are added up. None of this changes the answer: it is
// exactly the least (score, index).
class PreparedModel {
 public:
  PreparedModel(TimeModel model, std::shared_ptr<const KernelSpec> spec);

  const TimeModel& model() const { return model_; }
  const KernelSpec& spec() const { return *spec_; }
  Configuration configuration(std::size_t candidate) const;

  struct Scored {
    std::int64_t score = 0;  // TimeModel::predict()
    std::uint32_t candidate = 0;
    friend auto operator<=>(const Scored&, const Scored&) = default;
  };
  using Usable = std::function<bool(std::size_t candidate)>;
  // The least of those that satisfy the constraints and that `usable` accepts; it is asked for few
  // of them.
  std::optional<Scored> first(const Problem& problem, const Device& device,
                              const Usable& usable) const;
  // All candidates in order, whether usable or not. Slow and plain.
  std::vector<Scored> all(const Problem& problem, const Device& device) const;

 private:
  // Parameters that some expressions read, and which candidates agree in them.
  struct Projection {
    std::vector<std::size_t> parameters;
    std::vector<std::uint32_t> class_of;  // one per candidate
    std::size_t classes = 0;
  };
  struct Rule {
    Expression expression;
    std::size_t projection = 0;
    bool reads_sizes = false;
  };
  // What holds for one device and one choice of categories, whatever the sizes.
  struct Context {
    std::string key;
    std::vector<std::uint32_t> alive;  // candidates that pass the constraints that read no size
    std::vector<std::vector<float>> values;  // of features that read no size, by class; else empty
  };
  class Search;

  Rule make_rule(Expression expression);
  // Splits classes by one more parameter's values; gives their number.
  std::size_t refine(std::vector<std::uint32_t>& class_of, std::size_t classes,
                     std::size_t parameter) const;
  void bind(KernelSpec::Scope& scope, const Projection& projection, std::size_t candidate) const;
  // Leaves those for which the constraint holds.
  void filter(const Rule& rule, KernelSpec::Scope& scope, std::vector<std::uint32_t>& alive) const;
  // By class, for the classes of these candidates.
  std::vector<float> values(const Rule& rule, KernelSpec::Scope& scope,
                            const std::vector<std::uint32_t>& of) const;
  std::shared_ptr<const Context> context(const Problem& problem, const Device& device) const;

  TimeModel model_;
  std::shared_ptr<const KernelSpec> spec_;
  std::vector<std::vector<Scalar>> declared_;  // values of each parameter
  std::vector<Projection> projections_;
  std::vector<Rule> constraints_;
  std::vector<Rule> features_;
  std::vector<std::uint32_t> used_;  // features that a tree asks for

  mutable std::mutex mutex_;  // guards contexts_
  mutable std::vector<std::shared_ptr<const Context>> contexts_;
};

}  // namespace tunebook
