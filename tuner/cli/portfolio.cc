#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "cli/cli.h"
#include "cli/emit_files.h"
#include "cli/output_file.h"
#include "cli/terminal.h"
#include "core/error.h"
#include "core/json_text.h"
#include "core/text_table.h"
#include "db/store.h"
#include "portfolio/portfolio_choice.h"
#include "portfolio/portfolio_header.h"
#include "portfolio/portfolio_input.h"
#include "session/device_choice.h"
#include "session/device_listing.h"
#include "session/sample_compiler.h"

namespace tunebook::cli {
namespace {

struct Options {
  std::string kernel, book, weights, dtype, device, gpu, header, emit;
  std::string name_space = "tuned";
  std::size_t size = 8;
  std::vector<std::string> templates;
  bool json = false;
};

template <typename Text>
std::string listed(const std::vector<TrainingGroup>& groups, Text text) {
  std::set<std::string> names;
  for (const TrainingGroup& group : groups) names.insert(text(group));
  return fmt::format("{}", fmt::join(names, ", "));
}

// The device that is asked for by name, or by being plugged in here; nothing: any.
std::optional<std::string> asked_name(const Options& options) {
  if (!options.gpu.empty()) return options.gpu;
  if (options.device.empty()) return std::nullopt;
  const DeviceChoice choice = DeviceChoice::parse(options.device);
  if (choice.kind == DeviceChoice::Kind::replay) {
    throw InputError("portfolio: --device replay:PATH is no device of a book; use --gpu NAME");
  }
  const DeviceListing listing = probe_device(choice);
  if (listing.hello && listing.hello->device) return listing.hello->device->name;
  throw InputError(
      fmt::format("device '{}' cannot be used here: {}; name the book's device with --gpu",
                  options.device, listing.error));
}

void keep_device(const Options& options, std::vector<TrainingGroup>& groups) {
  const auto name_of = [](const TrainingGroup& group) { return group.device.name; };
  const std::string names = listed(groups, name_of);
  const std::optional<std::string> asked = asked_name(options);
  if (asked) {
    std::erase_if(groups, [&](const TrainingGroup& group) { return group.device.name != *asked; });
    if (groups.empty()) {
      throw InputError(fmt::format("portfolio: the book has no trials of {} on '{}', only on: {}",
                                   options.kernel, *asked, names));
    }
  } else if (names != name_of(groups.front())) {
    throw InputError(
        fmt::format("portfolio: the book has several devices, name one with --gpu: {}", names));
  }
}

// Of several data types, if none is asked for, the declaration's own default, else the one with
// most trials.
void keep_dtype(const Options& options, std::vector<TrainingGroup>& groups) {
  const std::string types = listed(groups, [](const TrainingGroup& group) { return group.dtype; });
  const KernelSpec& spec = groups.back().spec;
  const Dimension* dimension = spec.find_dimension("dtype");
  if (!options.dtype.empty() || dimension == nullptr || types == groups.front().dtype) {
    if (options.dtype.empty()) return;
    std::erase_if(groups, [&](const TrainingGroup& group) { return group.dtype != options.dtype; });
    if (!groups.empty()) return;
    throw InputError(fmt::format("--dtype: the book has no trials of {} with '{}', only with: {}",
                                 options.kernel, options.dtype,
                                 types.empty() ? "no data type" : types));
  }
  std::string type = to_text(dimension->default_value);
  if (std::none_of(groups.begin(), groups.end(),
                   [&](const TrainingGroup& group) { return group.dtype == type; })) {
    type = groups.back().dtype;
  }
  std::erase_if(groups, [&](const TrainingGroup& group) { return group.dtype != type; });
  fmt::print(stderr, "note: the book has the data types {}; this is for {}, choose with --dtype\n",
             types, type);
}

// Of several versions, methods and devices of one name the newest version, cold before warm, and
// what has most trials.
TrainingGroup chosen_group(const Options& options, const std::filesystem::path& book) {
  TrainingBook read = read_training(book, {options.kernel});
  std::vector<TrainingGroup>& groups = read.groups;
  std::erase_if(groups, [](const TrainingGroup& group) { return group.trials.empty(); });
  if (groups.empty()) {
    for (const UnreadableGroup& one : read.unreadable) {
      throw InputError(fmt::format("portfolio: kernel {} in {} cannot be read: {}", one.name,
                                   book.string(), one.reason));
    }
    return {};
  }
  keep_device(options, groups);
  keep_dtype(options, groups);
  const auto rank = [](const TrainingGroup& group) {
    return std::tuple(group.kernel, group.method.starts_with("cold"), group.trials.size());
  };
  return *std::max_element(
      groups.begin(), groups.end(),
      [&](const TrainingGroup& x, const TrainingGroup& y) { return rank(x) < rank(y); });
}

std::optional<TimeModel> model_of(const TrainingGroup& group, const std::filesystem::path& book) {
  for (const ModelRecord& record : Store::models_in_file(book)) {
    if (record.kernel != group.kernel || record.device != group.device_row ||
        record.dtype != group.dtype || record.method != group.method) {
      continue;
    }
    try {
      return TimeModel::decode(record.body, group.spec, "the model of " + group.name);
    } catch (const InputError& error) {
      fmt::print(stderr, "note: {}; it is not used\n", error.what());
    }
  }
  return std::nullopt;
}

// A problem of the book that the configuration runs: its categories are compiled in.
const Problem& problem_for(const PortfolioInput& input, std::size_t column) {
  for (std::size_t row = 0; row < input.tuned; ++row) {
    if (input.matrix.is_valid(row, column)) return input.problems[row];
  }
  return input.problems.front();
}

// DIR/0, DIR/1, ...: each configuration as the verb emit writes it.
std::vector<std::string> emit_all(const Options& options, const TrainingGroup& group,
                                  const PortfolioInput& input, const PortfolioChoice& choice) {
  const KernelTemplate kernel =
      find_template(options.kernel, template_search_path(options.templates));
  std::set<std::string> in_code(kernel.spec.define.begin(), kernel.spec.define.end());
  for (const Launch& launch : kernel.spec.launches)
    in_code.insert(launch.instantiate.begin(), launch.instantiate.end());
  for (const Dimension& dimension : kernel.spec.dimensions) {
    if (dimension.categorical || in_code.count(dimension.name) == 0) continue;
    throw InputError(
        fmt::format("--emit: the code of {} has the size {} in it, so one file cannot serve all "
                    "shapes; leave --emit out",
                    options.kernel, dimension.name));
  }
  if (kernel.hash != group.kernel_hash) {
    fmt::print(stderr,
               "note: the template has changed since it was tuned; today's code is emitted\n");
  }
  const std::string arch =
      group.device.kind == "cpu" ? "cpu" : fmt::format("sm_{}", group.device.compute_capability);
  std::vector<SampleJob> jobs;
  for (const std::size_t column : choice.chosen) {
    kernel.spec.check_configuration(input.configurations[column],
                                    "--emit: the book's configuration");
    jobs.push_back(
        {&kernel, problem_for(input, column), input.configurations[column], arch, false, true});
  }
  const std::vector<CompileReply> replies = compile_samples(jobs);
  std::vector<std::string> files;
  for (std::size_t i = 0; i < replies.size(); ++i) {
    if (replies[i].outcome != Outcome::ok) {
      throw EnvironmentError(fmt::format("--emit: configuration {} does not compile for {}: {}", i,
                                         arch, replies[i].message));
    }
    const std::filesystem::path folder = std::filesystem::path(options.emit) / std::to_string(i);
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error)
      throw InputError(
          fmt::format("--emit {}: cannot be made: {}", folder.string(), error.message()));
    for (std::string& file :
         write_emitted(kernel, jobs[i].problem, jobs[i].configuration, replies[i], folder)) {
      files.push_back(std::move(file));
    }
  }
  return files;
}

nlohmann::ordered_json speed_json(const PortfolioSpeed& speed) {
  return {{"geometric_mean", speed.geometric_mean}, {"worst", speed.worst}};
}

nlohmann::ordered_json to_json(const TrainingGroup& group, const PortfolioInput& input,
                               const PortfolioChoice& choice, bool model) {
  nlohmann::ordered_json configurations = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < choice.chosen.size(); ++i) {
    configurations.push_back({{"configuration", input.configurations[choice.chosen[i]].to_json()},
                              {"share", choice.share[i]}});
  }
  nlohmann::ordered_json conditions = nlohmann::ordered_json::array();
  for (const Expression& constraint : group.spec.constraints)
    conditions.push_back(constraint.text());
  return {{"kernel", group.name},
          {"kernel_hash", group.kernel_hash},
          {"dtype", group.dtype.empty() ? nlohmann::ordered_json(nullptr)
                                        : nlohmann::ordered_json(group.dtype)},
          {"device", group.device.to_json()},
          {"method", group.method},
          {"problems", input.tuned},
          {"candidates", input.configurations.size()},
          {"measured_share", input.measured_share},
          {"model", model},
          {"configurations", configurations},
          {"rule", choice.rule.to_json()},
          {"constraints", conditions},
          {"best_of", speed_json(choice.best_of)},
          {"fitted", speed_json(choice.fitted)},
          {"left_out", speed_json(choice.left_out)}};
}

std::vector<std::string> about(const TrainingGroup& group, const PortfolioInput& input,
                               const PortfolioChoice& choice) {
  return {
      fmt::format(
          "{} configurations of the kernel {}{} for {}, and the rule that picks one: written by",
          choice.chosen.size(), group.name, group.dtype.empty() ? "" : " (" + group.dtype + ")",
          group.device.name),
      fmt::format("`tunebook portfolio {}` from {} tuned problems. Expected on other shapes: "
                  "{:.2f} of the tuned speed,",
                  group.name, input.tuned, choice.left_out.geometric_mean),
      fmt::format("worst seen {:.2f} (each problem left out once).", choice.left_out.worst)};
}

void print_text(const TrainingGroup& group, const PortfolioInput& input,
                const PortfolioChoice& choice, bool model) {
  TextTable table;
  table.header = {"#", "shapes", "configuration"};
  table.right = {true, true, false};
  for (std::size_t i = 0; i < choice.chosen.size(); ++i) {
    table.rows.push_back({std::to_string(i), fmt::format("{:.0f} %", 100 * choice.share[i]),
                          input.configurations[choice.chosen[i]].display()});
  }
  fmt::print(
      "{}{} on {}, {} tuned problems, {} configurations, {:.0f} % of the valid pairs measured, the "
      "others {}\n\n{}\n",
      group.name, group.dtype.empty() ? "" : " " + group.dtype, group.device.name, input.tuned,
      input.configurations.size(), 100 * input.measured_share,
      model ? "by the model of time" : "as slow as the slowest that was measured",
      terminal_text(table));
  const auto line = [](const char* what, const PortfolioSpeed& speed) {
    fmt::print("{:<44} {:.3f} of the tuned speed, worst {:.2f}\n", what, speed.geometric_mean,
               speed.worst);
  };
  line("the fastest of these for each shape:", choice.best_of);
  line(fmt::format("by the rule (depth {}):", choice.rule.depth()).c_str(), choice.fitted);
  line("by the rule, on shapes it was made without:", choice.left_out);
}

int run_portfolio(const Options& options) {
  if (options.header == "-") throw InputError("--header: expected a file");
  std::optional<OutputFile> header;
  if (!options.header.empty()) header.emplace(options.header);
  const std::filesystem::path book = default_book_path(options.book);
  const TrainingGroup group = chosen_group(options, book);
  if (group.trials.empty()) {
    fmt::print(stderr,
               "no match: {} has no trials of {}; tune some shapes first, or give a working book "
               "(a published one has winners only)\n",
               book.string(), options.kernel);
    return kNo;
  }
  const std::optional<TimeModel> model = model_of(group, book);
  std::vector<WeightedProblem> asked;
  if (!options.weights.empty()) asked = read_weights(options.weights, group.spec, group.dtype);
  const PortfolioInput input = portfolio_input(group, model ? &*model : nullptr, asked);
  if (input.tuned == 0 || input.configurations.empty()) {
    fmt::print(stderr, "no match: no trial of {} was both verified and timed\n", options.kernel);
    return kNo;
  }
  const PortfolioChoice choice = choose_portfolio(input, group.spec, options.size);

  nlohmann::ordered_json json = to_json(group, input, choice, model.has_value());
  if (header) {
    Portfolio portfolio{&group.spec, group.device, group.dtype, {}, choice.rule};
    for (const std::size_t column : choice.chosen)
      portfolio.configurations.push_back(input.configurations[column]);
    header->write(portfolio_header(portfolio, options.name_space, about(group, input, choice)));
    json["header"] = options.header;
  }
  std::vector<std::string> files;
  if (!options.emit.empty()) {
    files = emit_all(options, group, input, choice);
    json["files"] = files;
  }
  if (options.json) {
    print_json(json);
    return kDone;
  }
  print_text(group, input, choice, model.has_value());
  if (header)
    fmt::print(stderr, "header: {}; include it and call {}::pick()\n", options.header,
               options.name_space);
  if (!files.empty())
    fmt::print(stderr, "emitted: {} files below {}\n", files.size(), options.emit);
  return kDone;
}

}  // namespace

void add_portfolio(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand(
      "portfolio", "Choose few configurations for all shapes, and the rule that picks among them");
  verb->add_option("kernel", options->kernel, "Kernel")->required();
  verb->add_option("--size", options->size, "At most so many configurations")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  verb->add_option(
          "--weights", options->weights,
          "What shapes matter: a JSON file of {\"problem\": {}, \"weight\": 2}, or a log of misses")
      ->type_name("FILE");
  verb->add_option("--dtype", options->dtype, "Data type (default: the declaration's)");
  verb->add_option("--gpu", options->gpu, "Name of the book's device, where it has several");
  verb->add_option("--header", options->header,
                   "Write a C++17 header with the configurations and pick()")
      ->type_name("FILE");
  verb->add_option("--namespace", options->name_space, "Its C++ namespace")->capture_default_str();
  verb->add_option("--emit", options->emit,
                   "Write source, PTX and cubin of each, as the verb emit does")
      ->type_name("DIR");
  add_device_option(*verb, options->device);
  add_templates_option(*verb, options->templates);
  add_book_option(*verb, options->book);
  add_json_option(*verb, options->json);
  verb->footer(
      "Example:  tunebook portfolio matmul --size 8 --header matmul_tuned.h --namespace "
      "app::matmul");
  verb->callback([options, &invocation] { invocation.exit_code = run_portfolio(*options); });
}

}  // namespace tunebook::cli
