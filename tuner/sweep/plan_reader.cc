#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "core/json_text.h"
#include "core/spec_reader.h"
#include "sweep/plan.h"
#include "sweep/plan_expand.h"
#include "sweep/plan_keys.h"
#include "sweep/plan_settings.h"
#include "sweep/shape_source.h"

namespace tunebook {
namespace {

constexpr int kFormat = 1;
constexpr std::size_t kMostProblems = 50;  // told at once
constexpr std::size_t kMostName = 100;

// Every limit that is named twice, here and on the command line, has one reader: TimeLimit's.
template <typename Parse>
void read_time(SpecReader& reader, const SpecNode& plan, const char* key, const Parse& parse) {
  if (plan.find(key) == nullptr) return;
  const SpecNode node = plan.at(key);
  const auto text = reader.text(node, "a time in double quotes");
  if (!text) return;
  try {
    parse(*text, node.path);
  } catch (const InputError& error) {
    // It begins with the path already.
    reader.problem(node.path, std::string(error.what()).substr(node.path.size() + 2));
  }
}

// It becomes part of a folder's and a job's name.
void read_name(SpecReader& reader, const SpecNode& node, std::string& name) {
  const auto text = reader.text(node);
  if (!text) return;
  const bool plain = std::none_of(text->begin(), text->end(), [](unsigned char c) { return c == '/' || c < ' ' || c == 0x7f; });
  if (plain && text->size() <= kMostName) name = *text;
  else reader.wrong(node, fmt::format("a name of at most {} bytes on one line, without /", kMostName));
}

// `said`: the plan names devices for every entry, if perhaps wrong ones, which is told.
PlanEntry read_entry(SpecReader& reader, const SpecNode& node, const PlanSettings& defaults, bool said, const std::string& folder,
                     std::vector<std::string>& notes) {
  PlanEntry entry;
  entry.path = node.path;
  if (!reader.object(node, plan_object("sessions"))) return entry;
  entry.settings = read_plan_settings(reader, node, defaults, folder);
  if (!said && node.find("devices") == nullptr) {
    reader.problem(node.path, "found no \"devices\" here or at the top of the plan, expected cuda, cuda:N, cpu or replay:PATH");
  }
  if (node.find("kernels") != nullptr) entry.kernels = read_text_or_texts(reader, node.at("kernels"), "the name of a kernel or a list of names");
  if (node.find("types") != nullptr) {
    entry.all_types = node.at("types").json == "all";
    if (!entry.all_types) entry.types = read_text_or_texts(reader, node.at("types"), "a data type, a list of data types, or \"all\"");
  }
  entry.cover = read_region(reader, node, folder, notes);
  entry.default_shape = node.find("shapes") == nullptr;
  if (entry.default_shape) return entry;
  const SpecNode shapes = node.at("shapes");
  if (!shapes.json.is_array()) {
    entry.shapes = read_shape_source(reader, shapes, folder, notes);
    return entry;
  }
  if (shapes.json.empty()) reader.wrong_empty(shapes);
  for (std::size_t i = 0; i < shapes.json.size(); ++i) {
    std::vector<WantedShape> read = read_shape_source(reader, shapes.at(i), folder, notes);
    entry.shapes.insert(entry.shapes.end(), std::make_move_iterator(read.begin()), std::make_move_iterator(read.end()));
    if (entry.shapes.size() > kMaxItems) {
      reader.problem(shapes.path, fmt::format("found more than {} shapes, expected that many at most", kMaxItems));
      entry.shapes.clear();
      break;
    }
  }
  return entry;
}

void read_root(SpecReader& reader, const SpecNode& root, const std::string& folder, KernelCatalog& catalog, SweepPlan& plan) {
  if (!reader.object(root, plan_object("plan"))) return;
  if (root.find("tunebook") != nullptr && root.at("tunebook").json != kFormat) {
    reader.wrong(root.at("tunebook"), fmt::format("{}, the version of this format", kFormat));
  }
  if (root.find("name") != nullptr) read_name(reader, root.at("name"), plan.name);
  reader.optional_text(root, "summary");
  read_time(reader, root, "time", [&](const std::string& text, const std::string& what) { plan.time.seconds = TimeLimit::parse_time(text, what).seconds; });
  read_time(reader, root, "until", [&](const std::string& text, const std::string& what) {
    plan.time.until_minute = TimeLimit::parse_until(text, what).until_minute;
  });
  const PlanSettings defaults = read_plan_settings(reader, root, {}, folder);
  if (root.find("sessions") == nullptr) return;
  const SpecNode sessions = root.at("sessions");
  if (!reader.array(sessions, "a list of entries such as {\"kernels\": \"matmul\", \"shapes\": [\"512,512,512\"]}")) return;
  if (sessions.json.empty()) reader.wrong_empty(sessions);
  PlanExpander expander(reader, catalog, plan);
  for (std::size_t i = 0; i < sessions.json.size(); ++i) {
    expander.add(read_entry(reader, sessions.at(i), defaults, root.find("devices") != nullptr, folder, plan.notes));
  }
  expander.finish();
}

[[noreturn]] void fail(const std::string& file, const std::vector<std::string>& problems) {
  std::string message;
  for (std::size_t i = 0; i < std::min(problems.size(), kMostProblems); ++i) message += fmt::format("{}{}: {}", i == 0 ? "" : "\n", file, problems[i]);
  if (problems.size() > kMostProblems) message += fmt::format("\n{}: and {} more", file, problems.size() - kMostProblems);
  throw InputError(message);
}

}  // namespace

SweepPlan parse_plan(const std::string& text, const std::filesystem::path& file, const PlanSources& sources) {
  const nlohmann::ordered_json json = parse_json_text(text, file.string(), /*comments=*/true);
  SweepPlan plan;
  plan.file = file.string();
  plan.name = file.stem().string();
  for (const std::string& folder : sources.templates) plan.templates.push_back(std::filesystem::absolute(folder).lexically_normal().string());
  SpecReader reader;
  KernelCatalog catalog(plan.templates);
  const std::string folder = std::filesystem::absolute(file).parent_path().string();
  read_root(reader, {json, ""}, folder, catalog, plan);
  if (!reader.problems().empty()) fail(plan.file, reader.problems());
  return plan;
}

SweepPlan read_plan(const std::filesystem::path& file, const PlanSources& sources) { return parse_plan(read_text_file(file), file, sources); }

}  // namespace tunebook
