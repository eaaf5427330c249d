// The files of shapes that a plan may name.

#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "core/json_text.h"
#include "sweep/plan.h"
#include "sweep/shape_source.h"

namespace tunebook {
namespace {

constexpr std::size_t kMostFaults = 10;  // of one file: a wrong file has one on each line

// Calls line(text, number, ended) for each; `ended`: a newline follows.
template <typename Line>
void for_each_line(std::string_view text, const Line& line) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";  // some editors begin UTF-8 with it
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  std::size_t number = 1;
  for (std::size_t start = 0; start < text.size(); ++number) {
    const std::size_t end = text.find('\n', start);
    line(text.substr(start, end == std::string_view::npos ? end : end - start), number, end != std::string_view::npos);
    if (end == std::string_view::npos) return;
    start = end + 1;
  }
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::string text_member(const nlohmann::ordered_json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_string()) throw InputError(fmt::format("/{}: expected a string", key));
  return found->get<std::string>();
}

WantedShape read_miss(std::string_view line) {
  // parse_json_text() names the place; of a line only the column is of use, and the caller has the number.
  const nlohmann::ordered_json json = parse_json_text(line, "a line");
  if (!json.is_object()) throw InputError("expected an object as a log of misses has it: {\"kernel\": ..., \"problem\": {...}, ...}");
  WantedShape shape;
  shape.miss = true;
  shape.kernel = text_member(json, "kernel");
  const auto problem = json.find("problem");
  if (problem == json.end()) throw InputError("/problem: missing");
  shape.values = Problem::from_json(*problem, "/problem");
  const auto device = json.find("device");
  if (device == json.end() || !device->is_object()) throw InputError("/device: expected an object");
  shape.device_kind = text_member(*device, "kind");
  shape.objective = text_member(json, "objective");
  return shape;
}

}  // namespace

std::vector<WantedShape> read_shape_file(SpecReader& reader, const std::string& text, const std::string& file, const std::string& path) {
  std::vector<WantedShape> shapes;
  bool too_many = false;
  for_each_line(text, [&](std::string_view line, std::size_t number, bool) {
    line = trimmed(line.substr(0, line.find('#')));
    if (line.empty() || too_many) return;
    if (shapes.size() == kMaxItems) {
      too_many = true;
      reader.problem(path, fmt::format("{}:{}: found more than {} shapes, expected that many at most", file, number, kMaxItems));
      return;
    }
    WantedShape shape;
    shape.text = std::string(line);
    shape.path = path;
    shape.place = fmt::format("{}:{}: ", file, number);
    shapes.push_back(std::move(shape));
  });
  if (shapes.empty()) reader.problem(path, fmt::format("{}: found no shape in it, expected lines such as 512,512,512", file));
  return shapes;
}

std::vector<WantedShape> read_misses(SpecReader& reader, const std::string& text, const std::string& file, const std::string& path,
                                     std::vector<std::string>& notes) {
  std::vector<WantedShape> shapes;
  std::set<std::string> seen;
  std::size_t faults = 0;
  for_each_line(text, [&](std::string_view line, std::size_t number, bool ended) {
    if (trimmed(line).empty() || faults > kMostFaults) return;
    const std::string place = fmt::format("{}:{}: ", file, number);
    WantedShape shape;
    try {
      shape = read_miss(line);
    } catch (const InputError& error) {
      if (!ended) {
        notes.push_back(place + "the last line is incomplete and was passed over");
      } else if (++faults > kMostFaults) {
        reader.problem(path, place + "and so on; is this a log of misses?");
      } else {
        reader.problem(path, place + error.what());
      }
      return;
    }
    if (!seen.insert(shape.kernel + '\n' + shape.values.canonical() + '\n' + shape.device_kind + '\n' + shape.objective).second) return;
    if (shapes.size() == kMaxItems) {
      if (seen.size() == kMaxItems + 1) notes.push_back(fmt::format("{}misses after the first {} were passed over", place, kMaxItems));
      return;
    }
    shape.path = path;
    shape.place = place;
    shapes.push_back(std::move(shape));
  });
  return shapes;
}

}  // namespace tunebook
