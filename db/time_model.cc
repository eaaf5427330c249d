#include "db/time_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>
#include <utility>

#include "core/error.h"

// The format (db/models.md): "TBTM", u32 format, u64 length of the whole, then the fields in the
// order of the structure. Counts and indices are LEB128, signed numbers zigzag LEB128, f32 and f64
// little-endian. Each model has one encoding.

namespace tunebook {
namespace {

constexpr std::string_view kMagic = "TBTM";
constexpr std::size_t kHeaderBytes = 16;
constexpr std::uint8_t kSizeTag = 0, kTextTag = 1;
// Longer names and times are no such thing.
constexpr std::size_t kMaxText = 256;
// All features together: they are compiled when a model is read and run for each question.
constexpr std::size_t kMaxFeatureText = std::size_t{1} << 17;
constexpr std::size_t kMaxBins = 64;
// With it the sum of the leaves of kMaxTrees trees cannot overflow.
constexpr std::int64_t kMaxBase = std::int64_t{1} << 40;

class Writer {
 public:
  void fixed(std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) bytes_ += static_cast<char>((value >> (8 * i)) & 0xff);
  }
  void count(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>((value & 0x7f) | 0x80);
    bytes_ += static_cast<char>(value);
  }
  void number(std::int64_t value) {
    count((static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63));
  }
  void f32(float value) { fixed(std::bit_cast<std::uint32_t>(value), 4); }
  void f64(double value) { fixed(std::bit_cast<std::uint64_t>(value), 8); }
  void text(std::string_view value) {
    count(value.size());
    bytes_ += value;
  }
  // The header in front of everything.
  std::string finish() {
    Writer whole;
    whole.bytes_ = kMagic;
    whole.fixed(static_cast<std::uint64_t>(TimeModel::kFormat), 4);
    whole.fixed(kHeaderBytes + bytes_.size(), 8);
    return whole.bytes_ + bytes_;
  }

 private:
  std::string bytes_;
};

class Reader {
 public:
  Reader(std::string_view bytes, const std::string& where) : bytes_(bytes), where_(where) {}

  [[noreturn]] void fail(const std::string& fault) const {
    throw InputError(fmt::format("{}: {}; learn it again: tunebook learn", where_, fault));
  }
  void require(bool good, const char* fault) const {
    if (!good) fail(fault);
  }

  std::uint64_t fixed(int bytes) {
    require(bytes_.size() - at_ >= static_cast<std::size_t>(bytes), "the model ends too early");
    std::uint64_t value = 0;
    for (int i = 0; i < bytes; ++i) value |= static_cast<std::uint64_t>(byte()) << (8 * i);
    return value;
  }
  std::uint64_t unsigned_number() {
    std::uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      require(at_ < bytes_.size(), "the model ends too early");
      const std::uint8_t next = byte();
      require(shift < 63 || next <= 1, "a number is beyond 64 bits");
      value |= static_cast<std::uint64_t>(next & 0x7f) << shift;
      if (next < 0x80) {
        require(next != 0 || shift == 0, "a number is written longer than it is");
        return value;
      }
    }
  }
  // The elements of a list, each of which takes at least one byte.
  std::size_t count(std::size_t most, const char* what) {
    const std::uint64_t value = unsigned_number();
    if (value > most) fail(fmt::format("it has {} {}, at most {} are read", value, what, most));
    require(value <= bytes_.size() - at_, "the model ends too early");
    return static_cast<std::size_t>(value);
  }
  std::size_t index(std::size_t size, const char* what) {
    const std::uint64_t value = unsigned_number();
    if (value >= size) fail(fmt::format("{} {} is out of range, there are {}", what, value, size));
    return static_cast<std::size_t>(value);
  }
  std::int64_t number(std::int64_t least, std::int64_t most, const char* what) {
    const std::uint64_t coded = unsigned_number();
    const auto value = static_cast<std::int64_t>((coded >> 1) ^ (~(coded & 1) + 1));
    if (value < least || value > most) fail(fmt::format("{} of {} is out of range", what, value));
    return value;
  }
  double f64() { return std::bit_cast<double>(fixed(8)); }
  float f32() { return std::bit_cast<float>(static_cast<std::uint32_t>(fixed(4))); }
  double share(const char* what) {
    const double value = f64();
    if (!(value >= 0 && value <= 1)) fail(fmt::format("{} is no share between 0 and 1", what));
    return value;
  }
  std::string text(std::size_t most, const char* what) {
    const std::size_t size = count(most, what);
    at_ += size;
    return std::string(bytes_.substr(at_ - size, size));
  }
  std::size_t left() const { return bytes_.size() - at_; }

 private:
  std::uint8_t byte() { return static_cast<std::uint8_t>(bytes_[at_++]); }

  std::string_view bytes_;
  const std::string& where_;
  std::size_t at_ = 0;
};

void read_header(Reader& in, std::string_view bytes) {
  in.require(bytes.starts_with(kMagic), "this is no model of time");
  in.fixed(static_cast<int>(kMagic.size()));
  const std::uint64_t format = in.fixed(4);
  if (format != TimeModel::kFormat) {
    in.fail(fmt::format("a model of format {}, this program reads {}", format, TimeModel::kFormat));
  }
  const std::uint64_t length = in.fixed(8);
  if (length != bytes.size()) {
    in.fail(fmt::format("a model of {} bytes, {} are there", length, bytes.size()));
  }
}

void read_features(Reader& in, const KernelSpec& spec, TimeModel& model) {
  const std::size_t count = in.count(TimeModel::kMaxFeatures, "features");
  std::size_t all = 0;
  for (std::size_t i = 0; i < count; ++i) {
    std::string text = in.text(kMaxFeatureText, "bytes of a feature");
    all += text.size();
    in.require(all <= kMaxFeatureText, "its features are too long");
    try {
      Expression::compile(text, spec.names);
    } catch (const ExpressionError& error) {
      in.fail(fmt::format("feature {} \"{}\", column {}: {}", i, text, error.column, error.what()));
    }
    model.features.push_back(std::move(text));
  }
}

TimeModel::Node read_node(Reader& in, std::size_t at, const TimeModel& model) {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int32_t>::min();
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  TimeModel::Node node;
  const std::size_t feature = in.index(model.features.size() + 1, "feature");
  node.feature = static_cast<std::int32_t>(feature) - 1;
  if (node.feature == TimeModel::Node::kLeaf) {
    node.next = static_cast<std::int32_t>(in.number(kLeast, kMost, "a leaf"));
    return node;
  }
  node.threshold = in.f32();
  in.require(std::isfinite(node.threshold), "a threshold is not finite");
  const std::uint64_t forward = in.unsigned_number();
  in.require(forward >= 1, "a node does not point forwards");
  in.require(forward < TimeModel::kMaxNodes, "a node points out of range");
  node.next = static_cast<std::int32_t>(at + forward);
  return node;
}

// Each tree lies between its root and the next one, and each of its nodes has at most one parent:
// so whatever walks a tree comes to an end, and visiting all of it takes one step a node.
void check_trees(const Reader& in, const TimeModel& model) {
  std::vector<std::uint8_t> depth(model.nodes.size(), 0), has_parent(model.nodes.size(), 0);
  std::size_t end = model.nodes.size();
  for (std::size_t tree = model.roots.size(); tree-- > 0;) {
    for (std::size_t at = end; at-- > model.roots[tree];) {
      const TimeModel::Node& node = model.nodes[at];
      if (node.feature == TimeModel::Node::kLeaf) continue;
      const auto next = static_cast<std::size_t>(node.next);
      in.require(next + 1 < end, "a node points out of its tree");
      in.require(has_parent[next] == 0 && has_parent[next + 1] == 0, "a node has two parents");
      has_parent[next] = has_parent[next + 1] = 1;
      depth[at] = static_cast<std::uint8_t>(std::max(depth[next], depth[next + 1]) + 1);
      in.require(depth[at] <= TimeModel::kMaxDepth, "a tree is too deep");
    }
    end = model.roots[tree];
  }
  in.require(end == 0, "nodes lie before the first tree");
}

void read_trees(Reader& in, TimeModel& model) {
  const std::size_t trees = in.count(TimeModel::kMaxTrees, "trees");
  for (std::size_t i = 0; i < trees; ++i) {
    const std::size_t root = in.index(TimeModel::kMaxNodes, "root");
    in.require(i == 0 || root > model.roots.back(), "the roots do not ascend");
    model.roots.push_back(static_cast<std::uint32_t>(root));
  }
  const std::size_t nodes = in.count(TimeModel::kMaxNodes, "nodes");
  in.require(trees == 0 || model.roots.back() < nodes, "a root is out of range");
  model.nodes.reserve(nodes);
  for (std::size_t i = 0; i < nodes; ++i) model.nodes.push_back(read_node(in, i, model));
  check_trees(in, model);
}

void read_candidates(Reader& in, const KernelSpec& spec, TimeModel& model) {
  constexpr std::int64_t kMost32 = std::numeric_limits<std::int32_t>::max();
  constexpr std::int64_t kMost64 = std::numeric_limits<std::int64_t>::max();
  const std::size_t count = in.count(TimeModel::kMaxCandidates, "candidates");
  in.require(count > 0, "it has no candidate");
  model.candidates.resize(count);
  for (TimeModel::Candidate& candidate : model.candidates) {
    candidate.values.reserve(spec.parameters.size());
    for (const Parameter& parameter : spec.parameters) {
      const std::size_t value = in.index(parameter.values.size(), "a candidate's value");
      in.require(value <= std::numeric_limits<std::uint16_t>::max(), "a value is out of range");
      candidate.values.push_back(static_cast<std::uint16_t>(value));
    }
    candidate.registers = static_cast<std::int32_t>(in.number(-1, kMost32, "registers"));
    candidate.shared_bytes = in.number(-1, kMost64, "shared bytes");
    candidate.problems = static_cast<std::int32_t>(in.number(0, kMost32, "a number of problems"));
  }
  std::vector<const TimeModel::Candidate*> order;
  for (const TimeModel::Candidate& candidate : model.candidates) order.push_back(&candidate);
  std::sort(order.begin(), order.end(),
            [](const auto* x, const auto* y) { return x->values < y->values; });
  const auto twice =
      std::adjacent_find(order.begin(), order.end(),
                         [](const auto* x, const auto* y) { return x->values == y->values; });
  in.require(twice == order.end(), "a candidate is there twice");
}

Value read_problem_value(Reader& in) {
  const std::uint64_t tag = in.unsigned_number();
  in.require(tag <= kTextTag, "a problem's value is neither a size nor a text");
  if (tag == kSizeTag) return in.number(1, kMaxDimension, "a size");
  return in.text(kMaxText, "bytes of a value");
}

void read_anchors(Reader& in, const KernelSpec& spec, TimeModel& model) {
  const bool has_dtype = spec.find_dimension("dtype") != nullptr;
  const std::size_t count = in.count(TimeModel::kMaxAnchors, "tuned problems");
  in.require(count > 0, "it has no tuned problem");
  std::set<std::vector<Value>> seen;
  for (std::size_t i = 0; i < count; ++i) {
    TimeModel::Anchor anchor;
    Problem problem;
    for (const Dimension& dimension : spec.dimensions) {
      anchor.problem.push_back(read_problem_value(in));
      problem.set(dimension.name, anchor.problem.back());
    }
    try {
      spec.check_problem(problem);
    } catch (const InputError& error) {
      in.fail(fmt::format("tuned problem {}: {}", i, error.what()));
    }
    in.require(!has_dtype || problem.at("dtype") == Value(model.dtype),
               "a tuned problem has another dtype");
    in.require(seen.insert(anchor.problem).second, "a tuned problem is there twice");
    anchor.best_us = in.f64();
    in.require(std::isfinite(anchor.best_us) && anchor.best_us > 0,
               "a time is not finite and above 0");
    anchor.candidate = static_cast<std::uint32_t>(in.index(model.candidates.size(), "candidate"));
    model.anchors.push_back(std::move(anchor));
  }
}

void read_loss(Reader& in, TimeModel& model) {
  const std::size_t count = in.count(kMaxBins, "bins of losses");
  in.require(count > 0, "it has no expected loss");
  double last = -1;
  for (std::size_t i = 0; i < count; ++i) {
    TimeModel::LossBin bin;
    bin.distance_upto = in.f64();
    in.require(bin.distance_upto >= 0 && bin.distance_upto > last,
               "distances of losses do not ascend");
    in.require(std::isinf(bin.distance_upto) == (i + 1 == count),
               "the last distance alone is infinite");
    last = bin.distance_upto;
    bin.predicted_mean = in.share("an expected loss");
    bin.predicted_bound = in.share("a bound of losses");
    bin.nearest_mean = in.share("an expected loss");
    bin.problems = static_cast<std::int32_t>(
        in.number(0, std::numeric_limits<std::int32_t>::max(), "a number of problems"));
    model.loss.push_back(bin);
  }
}

void check_dtype(const Reader& in, const KernelSpec& spec, const TimeModel& model) {
  const Dimension* const dtype = spec.find_dimension("dtype");
  const bool declared = dtype == nullptr ? model.dtype.empty()
                                         : std::find(dtype->values.begin(), dtype->values.end(),
                                                     model.dtype) != dtype->values.end();
  if (!declared) in.fail(fmt::format("the declaration has no dtype '{}'", model.dtype));
}

}  // namespace

std::string TimeModel::encode() const {
  Writer out;
  out.text(dtype);
  out.text(method);
  out.count(features.size());
  for (const std::string& feature : features) out.text(feature);
  out.count(roots.size());
  for (const std::uint32_t root : roots) out.count(root);
  out.count(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const Node& node = nodes[i];
    out.count(static_cast<std::uint64_t>(std::int64_t{node.feature} + 1));
    if (node.feature == Node::kLeaf) {
      out.number(node.next);
    } else {
      out.f32(node.threshold);
      out.count(static_cast<std::uint64_t>(node.next) - i);
    }
  }
  out.number(base);
  out.count(candidates.size());
  for (const Candidate& candidate : candidates) {
    for (const std::uint16_t value : candidate.values) out.count(value);
    out.number(candidate.registers);
    out.number(candidate.shared_bytes);
    out.number(candidate.problems);
  }
  out.count(anchors.size());
  for (const Anchor& anchor : anchors) {
    for (const Value& value : anchor.problem) {
      const auto* const text = std::get_if<std::string>(&value);
      out.count(text != nullptr ? kTextTag : kSizeTag);
      if (text != nullptr)
        out.text(*text);
      else
        out.number(std::get<std::int64_t>(value));
    }
    out.f64(anchor.best_us);
    out.count(anchor.candidate);
  }
  out.count(loss.size());
  for (const LossBin& bin : loss) {
    out.f64(bin.distance_upto);
    out.f64(bin.predicted_mean);
    out.f64(bin.predicted_bound);
    out.f64(bin.nearest_mean);
    out.number(bin.problems);
  }
  out.number(trials);
  out.text(learned_utc);
  return out.finish();
}

TimeModel TimeModel::decode(std::string_view bytes, const KernelSpec& spec,
                            const std::string& where) {
  Reader in(bytes, where);
  read_header(in, bytes);
  TimeModel model;
  model.dtype = in.text(kMaxText, "bytes of a dtype");
  check_dtype(in, spec, model);
  model.method = in.text(kMaxText, "bytes of a method");
  in.require(!model.method.empty(), "it names no method");
  read_features(in, spec, model);
  read_trees(in, model);
  model.base = in.number(-kMaxBase, kMaxBase, "a base");
  read_candidates(in, spec, model);
  read_anchors(in, spec, model);
  read_loss(in, model);
  model.trials = in.number(0, std::numeric_limits<std::int64_t>::max(), "a number of trials");
  model.learned_utc = in.text(kMaxText, "bytes of a time");
  in.require(in.left() == 0, "bytes follow the model's end");
  return model;
}

std::int64_t TimeModel::predict(const float* values) const {
  std::int64_t sum = base;
  for (const std::uint32_t root : roots) {
    const Node* node = &nodes[root];
    while (node->feature >= 0) {
      const bool below = values[node->feature] < node->threshold;
      node = &nodes[static_cast<std::size_t>(node->next) + (below ? 0 : 1)];
    }
    sum += node->next;
  }
  return sum;
}

const TimeModel::LossBin& TimeModel::loss_at(double distance) const {
  const auto found = std::find_if(loss.begin(), loss.end() - 1, [&](const LossBin& bin) {
    return distance <= bin.distance_upto;
  });
  return *found;
}

float feature_value(const Expression& expression, const KernelSpec::Scope& scope) {
  Scalar value;
  try {
    value = expression.evaluate(scope);
  } catch (const ExpressionError&) {
    return TimeModel::kNoValue;
  }
  switch (value.kind) {
    case Scalar::Kind::integer:
    case Scalar::Kind::boolean:
      return static_cast<float>(value.a);
    case Scalar::Kind::rational:
      return static_cast<float>(static_cast<double>(value.a) / static_cast<double>(value.b));
    default:
      return TimeModel::kNoValue;
  }
}

}  // namespace tunebook
