#include "sweep/cover_region.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/random.h"
#include "search/portable_math.h"

namespace tunebook {
namespace {

constexpr std::int64_t kClasses[] = {1, 2, 4, 8, 16};

// The i-th number of the van der Corput sequence of a base, i from 1.
double radical_inverse(std::uint64_t i, std::uint64_t base) {
  double result = 0, digit = 1;
  for (; i > 0; i /= base) {
    digit /= static_cast<double>(base);
    result += digit * static_cast<double>(i % base);
  }
  return result;
}

// Halton's sequence (Numerische Mathematik 2, 1960), shifted by random numbers of the seed.
class Sequence {
 public:
  explicit Sequence(std::uint64_t seed) : random_(seed) {}
  // The number of coordinate `axis` of point `i`, in [0, 1).
  double at(std::uint64_t i, std::size_t axis) {
    while (shifts_.size() <= axis) {
      bases_.push_back(next_prime(bases_.empty() ? 1 : bases_.back()));
      shifts_.push_back(random_.uniform());
    }
    const double value = radical_inverse(i + 1, bases_[axis]) + shifts_[axis];
    return value - std::floor(value);
  }

 private:
  static std::uint64_t next_prime(std::uint64_t after) {
    for (std::uint64_t n = after + 1;; ++n) {
      bool prime = true;
      for (std::uint64_t d = 2; d * d <= n; ++d) prime = prime && n % d != 0;
      if (prime) return n;
    }
  }

  Random random_;
  std::vector<std::uint64_t> bases_;
  std::vector<double> shifts_;
};

// The nearest size of the class in the dimension, if there is one: an odd multiple of the class,
// for the last class any multiple.
std::optional<std::int64_t> nearest_of_class(const CoverDimension& dimension, std::int64_t size,
                                             std::int64_t divisor) {
  const std::int64_t step = divisor == 16 ? divisor : 2 * divisor;
  const std::int64_t first = divisor == 16 ? 0 : divisor;
  const std::int64_t turns = (size - first + step / 2) / step;
  for (const std::int64_t turn : {turns, turns - 1, turns + 1}) {
    const std::int64_t candidate = first + turn * step;
    if (candidate >= dimension.from && candidate <= dimension.to) return candidate;
  }
  return std::nullopt;
}

std::int64_t draw_size(const CoverDimension& dimension, double where, double which_class) {
  if (!dimension.values.empty()) {
    const auto count = static_cast<double>(dimension.values.size());
    return dimension
        .values[std::min(dimension.values.size() - 1, static_cast<std::size_t>(where * count))];
  }
  const double low = portable_log(static_cast<double>(dimension.from));
  const double high = portable_log(static_cast<double>(dimension.to));
  const auto drawn =
      static_cast<std::int64_t>(std::llround(portable_exp(low + where * (high - low))));
  const std::int64_t size = std::clamp(drawn, dimension.from, dimension.to);
  if (!dimension.classes) return size;
  const auto number = static_cast<std::size_t>(which_class * std::size(kClasses));
  const std::int64_t divisor = kClasses[std::min(number, std::size(kClasses) - 1)];
  return nearest_of_class(dimension, size, divisor).value_or(size);
}

std::string sizes_text(const CoverDimension& dimension) {
  if (!dimension.values.empty()) {
    return fmt::format("{} {}", dimension.name, fmt::join(dimension.values, "|"));
  }
  return fmt::format("{} {}..{}", dimension.name, dimension.from, dimension.to);
}

bool divides(const Expression& expression, int slot) {
  if (expression.empty()) return false;
  const auto& slots = expression.slots();
  return std::find(slots.begin(), slots.end(), slot) != slots.end() &&
         expression.text().find('%') != std::string::npos;
}

}  // namespace

std::int64_t divisibility_class(std::int64_t size) {
  std::int64_t largest = 1;
  for (const std::int64_t divisor : kClasses) largest = size % divisor == 0 ? divisor : largest;
  return largest;
}

bool tells_classes_apart(const KernelSpec& spec, const std::string& dimension) {
  const auto slot = spec.names.find(dimension);
  if (!slot) return false;
  return std::any_of(spec.constraints.begin(), spec.constraints.end(),
                     [&](const Expression& constraint) { return divides(constraint, *slot); }) ||
         std::any_of(spec.launches.begin(), spec.launches.end(), [&](const Launch& launch) {
           const auto here = [&](const Expression& expression) {
             return divides(expression, *slot);
           };
           return here(launch.repeat) || here(launch.shared_bytes) ||
                  std::any_of(launch.grid.begin(), launch.grid.end(), here) ||
                  std::any_of(launch.block.begin(), launch.block.end(), here);
         });
}

std::string CoverRegion::identity() const {
  nlohmann::ordered_json sizes = nlohmann::ordered_json::array();
  for (const CoverDimension& one : dimensions)
    sizes.push_back({one.name, one.from, one.to, one.values});
  nlohmann::ordered_json asked = nlohmann::ordered_json::array();
  for (const WeightedShape& shape : weights) asked.push_back({shape.sizes, shape.weight});
  SweepItem without_sizes = item;
  for (const CoverDimension& one : dimensions) without_sizes.problem.set(one.name, std::int64_t{1});
  return nlohmann::ordered_json{without_sizes.id(), sizes, asked, target_loss, most_shapes}.dump() +
         when;
}

SweepItem CoverRegion::item_for(const std::vector<std::int64_t>& sizes) const {
  SweepItem result = item;
  for (std::size_t i = 0; i < dimensions.size(); ++i)
    result.problem.set(dimensions[i].name, sizes.at(i));
  return result;
}

std::string CoverRegion::display() const {
  std::string categories;
  for (const auto& [name, value] : item.problem.items()) {
    if (name == "dtype") categories += " " + to_text(value);
  }
  std::vector<std::string> sizes;
  for (const CoverDimension& one : dimensions) sizes.push_back(sizes_text(one));
  return fmt::format("{}{} on {}: {}", item.kernel, categories, item.device,
                     fmt::join(sizes, ", "));
}

bool CoverRegion::contains(const std::vector<std::int64_t>& sizes) const {
  if (sizes.size() != dimensions.size()) return false;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const CoverDimension& one = dimensions[i];
    const bool listed =
        std::find(one.values.begin(), one.values.end(), sizes[i]) != one.values.end();
    if (one.values.empty() ? sizes[i] < one.from || sizes[i] > one.to : !listed) return false;
  }
  return !holds || holds(sizes);
}

std::vector<CoverQuestion> draw_questions(const CoverRegion& region) {
  // Small regions repeat themselves, and a condition may leave few shapes: the draws end.
  const std::size_t most_draws = (region.holds ? 64 : 2) * kDrawnQuestions;
  Sequence sequence(region.item.settings.seed);
  std::vector<CoverQuestion> questions;
  std::set<std::vector<std::int64_t>> seen;
  double asked = 0;
  for (const WeightedShape& shape : region.weights) {
    asked += shape.weight;
    if (seen.insert(shape.sizes).second) questions.push_back({shape.sizes, shape.weight});
  }
  const std::size_t given = questions.size();
  for (std::size_t i = 0; i < most_draws && questions.size() - given < kDrawnQuestions; ++i) {
    std::vector<std::int64_t> sizes;
    for (std::size_t d = 0; d < region.dimensions.size(); ++d) {
      sizes.push_back(
          draw_size(region.dimensions[d], sequence.at(i, 2 * d), sequence.at(i, 2 * d + 1)));
    }
    if (region.holds && !region.holds(sizes)) continue;
    if (seen.insert(sizes).second) questions.push_back({std::move(sizes), 1});
  }
  const auto drawn = static_cast<double>(questions.size() - given);
  for (std::size_t i = given; asked > 0 && i < questions.size(); ++i) {
    questions[i].weight = kDrawnWeight * asked / drawn;
  }
  return questions;
}

std::optional<double> parse_percentage(std::string_view text) {
  if (text.size() < 2 || text.back() != '%') return std::nullopt;
  text.remove_suffix(1);
  double value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value > 0 && value <= 100 ? std::optional<double>(value / 100) : std::nullopt;
}

}  // namespace tunebook
