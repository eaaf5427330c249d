#include "db/prepared_model.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <unordered_map>
#include <utility>

namespace tunebook {
namespace {

// Devices and categories that are kept ready per model; the oldest makes room.
constexpr std::size_t kMaxContexts = 16;
// After so many trees the candidates that cannot win any more are left out.
constexpr std::size_t kTreesPerRound = 12;
// So many first choices may turn out to be unusable before all are put in order.
constexpr int kMaxRetries = 3;

bool holds(const Expression& constraint, const KernelSpec::Scope& scope) {
  try {
    return constraint.evaluate_bool(scope);
  } catch (const ExpressionError&) {
    return false;  // what cannot be evaluated is not usable
  }
}

std::string context_key(const KernelSpec& spec, const Problem& problem, const Device& device) {
  std::string key = device.key();
  const DeviceLimits& limits = device.limits;
  for (const std::int64_t limit :
       {limits.max_threads_per_block, limits.shared_bytes_per_block,
        limits.shared_bytes_per_block_optin, limits.shared_bytes_per_sm, limits.registers_per_block,
        limits.registers_per_sm, limits.max_threads_per_sm, limits.max_blocks_per_sm,
        limits.warp_size, limits.l2_bytes}) {
    key += ' ' + std::to_string(limit);
  }
  for (const Dimension& dimension : spec.dimensions) {
    if (dimension.categorical) key += '\n' + std::get<std::string>(problem.at(dimension.name));
  }
  return key;
}

}  // namespace

PreparedModel::PreparedModel(TimeModel model, std::shared_ptr<const KernelSpec> spec)
    : model_(std::move(model)), spec_(std::move(spec)) {
  for (const Parameter& parameter : spec_->parameters) {
    std::vector<Scalar>& values = declared_.emplace_back();
    for (const Value& value : parameter.values) values.push_back(Scalar::from(value));
  }
  for (const Expression& constraint : spec_->constraints)
    constraints_.push_back(make_rule(constraint));
  for (const std::string& text : model_.features) {
    features_.push_back(make_rule(Expression::compile(text, spec_->names)));
  }
  std::vector<bool> used(model_.features.size());
  for (const TimeModel::Node& node : model_.nodes) {
    if (node.feature >= 0) used[static_cast<std::size_t>(node.feature)] = true;
  }
  for (std::uint32_t i = 0; i < used.size(); ++i) {
    if (used[i]) used_.push_back(i);
  }
}

PreparedModel::Rule PreparedModel::make_rule(Expression expression) {
  Rule rule;
  const std::size_t sizes = spec_->dimensions.size();
  std::vector<std::size_t> parameters;
  for (const int slot : expression.slots()) {
    const auto place = static_cast<std::size_t>(slot);
    if (place < sizes)
      rule.reads_sizes = rule.reads_sizes || !spec_->dimensions[place].categorical;
    else if (place < sizes + spec_->parameters.size())
      parameters.push_back(place - sizes);
  }
  rule.expression = std::move(expression);
  const auto known =
      std::find_if(projections_.begin(), projections_.end(),
                   [&](const Projection& one) { return one.parameters == parameters; });
  rule.projection = static_cast<std::size_t>(known - projections_.begin());
  if (known != projections_.end()) return rule;

  Projection& added = projections_.emplace_back();
  added.parameters = std::move(parameters);
  // Parameter by parameter: the class so far and the next value give the finer class.
  added.class_of.assign(model_.candidates.size(), 0);
  added.classes = 1;
  for (const std::size_t parameter : added.parameters) {
    added.classes = refine(added.class_of, added.classes, parameter);
  }
  return rule;
}

std::size_t PreparedModel::refine(std::vector<std::uint32_t>& class_of, std::size_t classes,
                                  std::size_t parameter) const {
  // A table of all pairs, or, where that would be large, of those that occur.
  constexpr std::size_t kMaxTable = std::size_t{1} << 18;
  constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  const std::size_t values = declared_[parameter].size();
  const bool small = classes * values <= kMaxTable;
  std::vector<std::uint32_t> table(small ? classes * values : 0, kNone);
  std::unordered_map<std::size_t, std::uint32_t> map;
  std::uint32_t finer = 0;
  for (std::size_t i = 0; i < class_of.size(); ++i) {
    const std::size_t pair = class_of[i] * values + model_.candidates[i].values[parameter];
    std::uint32_t& id = small ? table[pair] : map.try_emplace(pair, kNone).first->second;
    if (id == kNone) id = finer++;
    class_of[i] = id;
  }
  return finer;
}

Configuration PreparedModel::configuration(std::size_t candidate) const {
  Configuration configuration;
  for (std::size_t i = 0; i < spec_->parameters.size(); ++i) {
    const Parameter& parameter = spec_->parameters[i];
    configuration.set(parameter.name, parameter.values[model_.candidates[candidate].values[i]]);
  }
  return configuration;
}

void PreparedModel::bind(KernelSpec::Scope& scope, const Projection& projection,
                         std::size_t candidate) const {
  const std::size_t first = spec_->dimensions.size();
  for (const std::size_t parameter : projection.parameters) {
    scope[first + parameter] = declared_[parameter][model_.candidates[candidate].values[parameter]];
  }
}

void PreparedModel::filter(const Rule& rule, KernelSpec::Scope& scope,
                           std::vector<std::uint32_t>& alive) const {
  const Projection& projection = projections_[rule.projection];
  std::vector<std::int8_t> verdicts(projection.classes, -1);
  std::erase_if(alive, [&](std::uint32_t candidate) {
    std::int8_t& verdict = verdicts[projection.class_of[candidate]];
    if (verdict < 0) {
      bind(scope, projection, candidate);
      verdict = holds(rule.expression, scope) ? 1 : 0;
    }
    return verdict == 0;
  });
}

std::vector<float> PreparedModel::values(const Rule& rule, KernelSpec::Scope& scope,
                                         const std::vector<std::uint32_t>& of) const {
  const Projection& projection = projections_[rule.projection];
  std::vector<float> values(projection.classes);
  std::vector<bool> known(projection.classes);
  for (const std::uint32_t candidate : of) {
    const std::uint32_t its = projection.class_of[candidate];
    if (known[its]) continue;
    known[its] = true;
    bind(scope, projection, candidate);
    values[its] = feature_value(rule.expression, scope);
  }
  return values;
}

std::shared_ptr<const PreparedModel::Context> PreparedModel::context(const Problem& problem,
                                                                     const Device& device) const {
  const std::string key = context_key(*spec_, problem, device);
  {
    const std::lock_guard lock(mutex_);
    for (const auto& known : contexts_) {
      if (known->key == key) return known;
    }
  }
  auto made = std::make_shared<Context>();
  made->key = key;
  made->alive.resize(model_.candidates.size());
  std::iota(made->alive.begin(), made->alive.end(), 0u);
  KernelSpec::Scope scope = spec_->scope(problem, device);
  for (const Rule& rule : constraints_) {
    if (!rule.reads_sizes) filter(rule, scope, made->alive);
  }
  made->values.resize(features_.size());
  for (const std::uint32_t feature : used_) {
    if (!features_[feature].reads_sizes)
      made->values[feature] = values(features_[feature], scope, made->alive);
  }
  const std::lock_guard lock(mutex_);
  if (contexts_.size() == kMaxContexts) contexts_.erase(contexts_.begin());
  contexts_.push_back(made);
  return made;
}

// One question: the features' values of the candidates that are left, and the trees as far as these
// differ.
class PreparedModel::Search {
 public:
  Search(const PreparedModel& prepared, const Context& context, KernelSpec::Scope& scope,
         std::vector<std::uint32_t> candidates)
      : prepared_(prepared), candidates_(std::move(candidates)), columns_(prepared.used_.size()) {
    column_of_.assign(prepared.features_.size(), 0);
    for (std::size_t i = 0; i < columns_; ++i)
      column_of_[prepared.used_[i]] = static_cast<std::int32_t>(i);
    fill(context, scope);
    fold();
  }

  // The least (score, index) among those that are not struck out; `struck` by position.
  std::optional<std::size_t> least(const std::vector<bool>& struck) const;
  std::int64_t score(std::size_t position) const {
    std::int64_t sum = base_;
    for (const Tree& tree : trees_) sum += leaf(tree, position);
    return sum;
  }
  const std::vector<std::uint32_t>& candidates() const { return candidates_; }

 private:
  struct Node {
    std::int32_t column;  // of the values; -1: a leaf
    float threshold;
    std::int32_t next;  // of a leaf its value
  };
  struct Tree {
    std::uint32_t root;
    std::int64_t least, most;  // of its leaves
  };

  void fill(const Context& context, KernelSpec::Scope& scope) {
    values_.resize(candidates_.size() * columns_);
    least_.assign(columns_, std::numeric_limits<float>::infinity());
    most_.assign(columns_, -std::numeric_limits<float>::infinity());
    for (std::size_t column = 0; column < columns_; ++column) {
      const std::uint32_t feature = prepared_.used_[column];
      const Rule& rule = prepared_.features_[feature];
      const std::vector<float> now =
          rule.reads_sizes ? prepared_.values(rule, scope, candidates_) : std::vector<float>();
      const float* const by_class = rule.reads_sizes ? now.data() : context.values[feature].data();
      const std::uint32_t* const class_of = prepared_.projections_[rule.projection].class_of.data();
      for (std::size_t i = 0; i < candidates_.size(); ++i) {
        const float value = by_class[class_of[candidates_[i]]];
        values_[i * columns_ + column] = value;
        least_[column] = std::min(least_[column], value);
        most_[column] = std::max(most_[column], value);
      }
    }
  }

  void fold() {
    base_ = prepared_.model_.base;
    for (const std::uint32_t root : prepared_.model_.roots) {
      const std::size_t first = nodes_.size();
      Tree tree{static_cast<std::uint32_t>(first), std::numeric_limits<std::int64_t>::max(),
                std::numeric_limits<std::int64_t>::min()};
      nodes_.emplace_back();
      fold(root, first, tree);
      if (nodes_[first].column >= 0) {
        trees_.push_back(tree);
      } else {
        base_ += nodes_[first].next;
        nodes_.resize(first);
      }
    }
    // Trees that tell most come first: the sum is the same, and more can be left out early.
    std::sort(trees_.begin(), trees_.end(),
              [](const Tree& x, const Tree& y) { return x.most - x.least > y.most - y.least; });
    rest_.assign(trees_.size() + 1, 0);
    for (std::size_t i = trees_.size(); i-- > 0;) rest_[i] = rest_[i + 1] + trees_[i].least;
  }

  // The model's node `from` becomes the node `to` here.
  void fold(std::size_t from, std::size_t to, Tree& tree) {
    const std::vector<TimeModel::Node>& model = prepared_.model_.nodes;
    for (;;) {
      const TimeModel::Node& node = model[from];
      if (node.feature < 0) {
        nodes_[to] = {-1, 0, node.next};
        tree.least = std::min<std::int64_t>(tree.least, node.next);
        tree.most = std::max<std::int64_t>(tree.most, node.next);
        return;
      }
      const std::int32_t column = column_of_[static_cast<std::size_t>(node.feature)];
      const auto next = static_cast<std::size_t>(node.next);
      if (most_[static_cast<std::size_t>(column)] < node.threshold) {
        from = next;
      } else if (!(least_[static_cast<std::size_t>(column)] < node.threshold)) {
        from = next + 1;
      } else {
        const std::size_t children = nodes_.size();
        nodes_.resize(children + 2);
        nodes_[to] = {column, node.threshold, static_cast<std::int32_t>(children)};
        fold(next, children, tree);
        fold(next + 1, children + 1, tree);
        return;
      }
    }
  }

  std::int64_t leaf(const Tree& tree, std::size_t position) const {
    const float* const values = values_.data() + position * columns_;
    const Node* node = nodes_.data() + tree.root;
    while (node->column >= 0) {
      const bool below = values[node->column] < node->threshold;
      node = nodes_.data() + node->next + (below ? 0 : 1);
    }
    return node->next;
  }

  const PreparedModel& prepared_;
  std::vector<std::uint32_t> candidates_;
  std::size_t columns_;
  std::vector<std::int32_t> column_of_;
  std::vector<float> values_;  // one row per candidate
  std::vector<float> least_, most_;
  std::vector<Node> nodes_;
  std::vector<Tree> trees_;
  std::vector<std::int64_t> rest_;  // the least that the trees from here on can add
  std::int64_t base_ = 0;
};

std::optional<std::size_t> PreparedModel::Search::least(const std::vector<bool>& struck) const {
  std::vector<Scored> left;  // sums so far, by position
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    if (!struck[i]) left.push_back({base_, static_cast<std::uint32_t>(i)});
  }
  if (left.empty()) return std::nullopt;
  std::int64_t bound = std::numeric_limits<std::int64_t>::max();
  for (std::size_t tree = 0; tree < trees_.size();) {
    const std::size_t end = std::min(tree + kTreesPerRound, trees_.size());
    for (; tree < end; ++tree) {
      for (Scored& one : left) one.score += leaf(trees_[tree], one.candidate);
    }
    // What the best so far comes to in the end, no other may exceed.
    std::int64_t best = std::min_element(left.begin(), left.end())->score;
    const std::size_t at = std::min_element(left.begin(), left.end())->candidate;
    for (std::size_t i = end; i < trees_.size() && left.size() > 1; ++i)
      best += leaf(trees_[i], at);
    if (left.size() > 1) bound = std::min(bound, best);
    std::erase_if(left, [&](const Scored& one) { return one.score + rest_[end] > bound; });
  }
  return std::min_element(left.begin(), left.end())->candidate;
}

std::optional<PreparedModel::Scored> PreparedModel::first(const Problem& problem,
                                                          const Device& device,
                                                          const Usable& usable) const {
  const std::shared_ptr<const Context> context = this->context(problem, device);
  KernelSpec::Scope scope = spec_->scope(problem, device);
  std::vector<std::uint32_t> alive = context->alive;
  for (const Rule& rule : constraints_) {
    if (rule.reads_sizes) filter(rule, scope, alive);
  }
  if (alive.empty()) return std::nullopt;
  const Search search(*this, *context, scope, std::move(alive));
  const std::vector<std::uint32_t>& candidates = search.candidates();
  std::vector<bool> struck(candidates.size());
  for (int attempt = 0; attempt <= kMaxRetries; ++attempt) {
    const std::optional<std::size_t> position = search.least(struck);
    if (!position) return std::nullopt;
    if (usable(candidates[*position]))
      return Scored{search.score(*position), candidates[*position]};
    struck[*position] = true;
  }
  std::vector<Scored> order;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (!struck[i]) order.push_back({search.score(i), candidates[i]});
  }
  std::sort(order.begin(), order.end());
  const auto found = std::find_if(order.begin(), order.end(),
                                  [&](const Scored& one) { return usable(one.candidate); });
  return found == order.end() ? std::nullopt : std::optional(*found);
}

std::vector<PreparedModel::Scored> PreparedModel::all(const Problem& problem,
                                                      const Device& device) const {
  KernelSpec::Scope scope = spec_->scope(problem, device);
  std::vector<Scored> order;
  std::vector<float> values(features_.size());
  for (std::size_t i = 0; i < model_.candidates.size(); ++i) {
    for (std::size_t parameter = 0; parameter < declared_.size(); ++parameter) {
      scope[spec_->dimensions.size() + parameter] =
          declared_[parameter][model_.candidates[i].values[parameter]];
    }
    for (std::size_t f = 0; f < features_.size(); ++f)
      values[f] = feature_value(features_[f].expression, scope);
    order.push_back({model_.predict(values.data()), static_cast<std::uint32_t>(i)});
  }
  std::sort(order.begin(), order.end());
  return order;
}

}  // namespace tunebook
