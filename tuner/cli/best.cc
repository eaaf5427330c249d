#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>

#include <fmt/format.h>
#include <tunebook/lookup.h>

#include "cli/cli.h"
#include "cli/explain_text.h"
#include "cli/terminal.h"
#include "core/error.h"
#include "core/template_folder.h"
#include "db/answer_json.h"
#include "db/lookup_limits.h"
#include "db/store.h"
#include "session/device_listing.h"

namespace tunebook::cli {
namespace {

struct Options {
  std::string kernel, shape, device, gpu, book, cache = "cold", objective = "time";
  std::vector<std::string> templates;
  double near_cap = kNearCap;
  std::size_t most = 100;
  bool explain = false, json = false;
};

LookupValues to_lookup(const NamedValues& values) {
  LookupValues result;
  for (const auto& [name, value] : values.items()) result.emplace_back(name, value);
  return result;
}

NamedValues from_lookup(const LookupValues& values) {
  NamedValues result;
  for (const auto& [name, value] : values) result.set(name, value);
  return result;
}

// A shape without a spec at hand: only "name=value,..." can be understood.
Problem parse_named_shape(const std::string& kernel, const std::string& text) {
  Problem problem;
  std::size_t start = 0;
  while (start < text.size()) {
    const std::size_t end = std::min(text.find(',', start), text.size());
    const std::string item = text.substr(start, end - start);
    const std::size_t equals = item.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw InputError(fmt::format("--shape: '{}': kernel {} has no template here, so sizes need their names: m=512,n=512", item, kernel));
    }
    problem.set(item.substr(0, equals), parse_value(item.substr(equals + 1)));
    start = end + 1;
  }
  return problem;
}

DeviceKey asked_device(const Options& options) {
  if (!options.gpu.empty()) {
    DeviceKey key;
    key.name = options.gpu;
    return key;
  }
  const DeviceChoice choice = DeviceChoice::parse(options.device);
  if (choice.kind == DeviceChoice::Kind::replay) {
    throw InputError("best: --device replay:PATH has no device to ask for; use --gpu NAME");
  }
  const DeviceListing listing = probe_device(choice);
  if (listing.hello && listing.hello->device) return to_device_key(*listing.hello->device);
  if (choice.kind != DeviceChoice::Kind::automatic) {
    throw InputError(fmt::format("device '{}' cannot be used here: {}; name the device asked for with --gpu NAME", options.device,
                                 listing.error));
  }
  return {};  // a machine that runs no kernels: any device's answer is better than none
}

std::optional<KernelTemplate> template_if_present(const Options& options) {
  for (const TemplateEntry& entry : find_templates(template_search_path(options.templates))) {
    if (entry.name == options.kernel) return load_template(entry.folder);  // throws with the reason if it is broken
  }
  return std::nullopt;
}

// "expected loss 3 %, 80 % of such answers lose at most 9 %"; "": not known.
std::string loss_text(const Answer& answer) {
  if (!answer.expected_loss) return "";
  std::string text = fmt::format("expected loss {:.0f} %", 100 * *answer.expected_loss);
  if (answer.loss_bound) text += fmt::format(", 80 % of such answers lose at most {:.0f} %", 100 * *answer.loss_bound);
  return text;
}

// How the answer matched, in one line without its head.
std::string match_text(const Options& options, const Answer& answer) {
  const Tier tier = answer.shipped_tier.value_or(answer.tier);
  std::string text = answer.tier == Tier::shipped ? fmt::format("shipped ({}), {}", answer.source, tier_name(tier)) : tier_name(tier);
  if (tier == Tier::preset_default) {
    return fmt::format("{} (the template's preset; never tuned for this problem and device: tunebook tune {} --shape {})", text,
                       options.kernel, options.shape);
  }
  const std::string loss = loss_text(answer);
  const std::string problem = from_lookup(answer.problem).display();
  if (tier == Tier::predicted) {
    return fmt::format("{} ({}; nearest tuned problem {}, distance {:.2f}), about {}, on {}, model of {}, stale: {}", text, loss, problem,
                       answer.distance, format_time_us(*answer.predicted_us), answer.device.name, answer.tuned_at_utc,
                       stale_name(answer.stale));
  }
  if (answer.distance != 0) {
    text += fmt::format(" (distance {:.2f} from {}{}{})", answer.distance, problem, loss.empty() ? "" : "; ", loss);
  }
  return fmt::format("{}, {}, tuned on {} ({}), session {}, stale: {}", text,
                     answer.median_us ? format_time_us(*answer.median_us) : "no time", answer.device.name, answer.tuned_at_utc,
                     answer.session, stale_name(answer.stale));
}

int run_best(const Options& options) {
  const std::optional<KernelTemplate> kernel = template_if_present(options);
  Query query;
  query.kernel = options.kernel;
  query.problem = to_lookup(kernel ? kernel->spec.parse_shape(options.shape) : parse_named_shape(options.kernel, options.shape));
  query.device = asked_device(options);
  query.method = options.cache;
  query.objective = options.objective;
  if (kernel) query.kernel_hash = kernel->hash;

  if (!(options.near_cap >= 0)) throw InputError("--near-cap: expected a distance, 0 or more, or inf");
  LookupOptions lookup_options;
  lookup_options.near_cap = options.near_cap;
  if (kernel) {
    lookup_options.spec_json = kernel->spec.to_json().dump();
    for (const std::filesystem::path& shipped : shipped_books(kernel->folder)) lookup_options.shipped_books.push_back(shipped.string());
  }
  const std::filesystem::path book = default_book_path(options.book);
  if (!std::filesystem::exists(book)) {
    if (!kernel) find_template(options.kernel, template_search_path(options.templates));  // names the nearest kernel, exit code 2
    if (!options.book.empty()) throw InputError(fmt::format("{}: no such book; tunebook tune makes one", book.string()));
    lookup_options.no_book = true;
    fmt::print(stderr, "note: there is no book yet at {}; tunebook tune makes one\n", book.string());
  }
  Explanation explanation;
  try {
    const Lookup lookup(book.string(), lookup_options);
    if (options.explain) {
      explanation = lookup.explain(query, options.most);
    } else {
      explanation.answer = lookup.best(query);
    }
  } catch (const std::invalid_argument& error) {  // the question fits no version of the kernel
    throw InputError(error.what());
  }
  const std::shared_ptr<const Answer>& answer = explanation.answer;
  if (!answer) {
    if (!kernel) find_template(options.kernel, template_search_path(options.templates));  // names the nearest kernel, exit code 2
    if (options.explain && options.json) {
      print_json({{"kernel", options.kernel}, {"problem", to_json(query.problem)}, {"explanation", to_json(explanation)}});
    } else if (options.explain) {
      fmt::print("{}", explain_text(explanation));
    }
    fmt::print(stderr, "no match: neither a winner nor a preset of {} fits {}\n", options.kernel,
               from_lookup(query.problem).display());
    return kNo;
  }
  const std::optional<double> median_us = answer->median_us;
  if (options.json) {
    nlohmann::ordered_json match;
    match["tier"] = tier_name(answer->tier);
    match["distance"] = answer->distance;
    match["problem"] = answer->problem.empty() ? nlohmann::ordered_json(nullptr) : from_lookup(answer->problem).to_json();
    match["device"] = answer->tier == Tier::preset_default ? nlohmann::ordered_json(nullptr) : to_json(answer->device);
    match["stale"] = stale_name(answer->stale);
    const auto or_null = [](const std::optional<double>& number) {
      return number ? nlohmann::ordered_json(*number) : nlohmann::ordered_json(nullptr);
    };
    match["expected_loss"] = or_null(answer->expected_loss);
    match["loss_bound"] = or_null(answer->loss_bound);
    match["predicted_us"] = or_null(answer->predicted_us);
    match["source"] = answer->source;
    nlohmann::ordered_json json;
    json["kernel"] = options.kernel;
    json["problem"] = from_lookup(query.problem).to_json();
    json["configuration"] = from_lookup(answer->configuration).to_json();
    json["match"] = match;
    json["median_us"] = median_us ? nlohmann::ordered_json(*median_us) : nlohmann::ordered_json(nullptr);
    if (options.explain) json["explanation"] = to_json(explanation);
    print_json(json);
    return kDone;
  }
  fmt::print("{}\n", from_lookup(answer->configuration).display());
  if (options.explain) fmt::print("\n{}", explain_text(explanation));
  fmt::print(stderr, "match: {}\n", match_text(options, *answer));
  return kDone;
}

}  // namespace

void add_best(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("best", "Ask the book for the best configuration");
  verb->add_option("kernel", options->kernel, "Kernel")->required();
  verb->add_option("--shape", options->shape, "Problem: m=512,n=512,k=512 or 512,512,512")->required();
  add_device_option(*verb, options->device);
  verb->add_option("--gpu", options->gpu, "Ask for a device by name, e.g. 'NVIDIA H200'")->excludes("--device");
  verb->add_option("--cache", options->cache, "cold or warm: how the time was taken")
      ->check(CLI::IsMember({"cold", "warm"}))->capture_default_str();
  verb->add_option("--objective", options->objective, "time or energy: what the winner was chosen for")
      ->check(CLI::IsMember({"time", "energy"}))->capture_default_str();
  verb->add_option("--near-cap", options->near_cap, "Where `near` ends: a distance of log2 of the sizes, 0 or more; inf: nowhere")
      ->capture_default_str();
  verb->add_flag("--explain", options->explain, "Also the candidates considered, tier by tier, and why each was passed over");
  verb->add_option("--most", options->most, "With --explain: at most so many candidates")->needs("--explain")->capture_default_str();
  add_book_option(*verb, options->book);
  add_templates_option(*verb, options->templates);
  add_json_option(*verb, options->json);
  verb->footer("Example:  tunebook best matmul --shape 512,512,512 --json\n          tunebook best matmul --shape 500,500,500 --explain\nExit code 3: no match.");
  verb->callback([options, &invocation] { invocation.exit_code = run_best(*options); });
}

}  // namespace tunebook::cli
