#include "launch/launcher_core.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "core/error.h"
#include "core/json_text.h"
#include "db/lookup_kernel.h"
#include "db/lookup_limits.h"

namespace tunebook {
namespace {

std::string book_path(const LaunchOptions& options) {
  if (!options.book.empty()) return options.book;
  const char* const named = std::getenv("TUNEBOOK_BOOK");
  return named == nullptr ? "" : named;
}

// Faults of the options that would show late or not at all.
LaunchOptions checked(LaunchOptions options) {
  const RefineOptions& refine = options.refine;
  if (refine.candidates <= 1) return options;
  const auto refuse = [](const std::string& what) { throw std::invalid_argument("LaunchOptions::refine" + what); };
  if (!options.architecture.empty()) {
    refuse(" times kernels on a device, but LaunchOptions::architecture says to touch none: leave one of them out");
  }
  if (options.objective != "time") {
    refuse(fmt::format(" compares times, but LaunchOptions::objective is \"{}\": leave one of them out", options.objective));
  }
  if (!(refine.seconds > 0)) refuse(fmt::format(".seconds is {:g}, expected more than 0", refine.seconds));
  if (refine.bytes <= 0) refuse(fmt::format(".bytes is {}, expected more than 0", refine.bytes));
  if (refine.samples < 1) refuse(fmt::format(".samples is {}, expected at least 1", refine.samples));
  if (!refine.learned_file.empty()) {
    // Now, not after the work.
    if (const std::string fault = append_learned(refine.learned_file, ""); !fault.empty()) {
      throw std::runtime_error("LaunchOptions::refine.learned_file: " + fault);
    }
  }
  return options;
}

// The book, and behind it the books that come with the templates. Without either there is nothing to ask.
std::optional<Lookup> open_book(const LaunchOptions& options, const std::vector<std::filesystem::path>& search_path) {
  const std::string path = book_path(options);
  LookupOptions lookup = options.lookup;
  for (std::string& shipped : shipped_books(search_path)) lookup.shipped_books.push_back(std::move(shipped));
  if (path.empty() && lookup.shipped_books.empty()) return std::nullopt;
  lookup.spec_json.clear();
  lookup.more_specs_json.clear();
  lookup.no_book = path.empty();
  return std::optional<Lookup>(std::in_place, path, std::move(lookup));
}

std::size_t mixed(std::size_t state, std::size_t value) { return (state ^ value) * 0x9e3779b97f4a7c15U ^ (state >> 29); }

Problem problem_of(const LookupValues& values) {
  Problem problem;
  for (const auto& [name, value] : values) problem.set(name, value);
  return problem;
}

// The complete problem, in declared order.
Problem fit(const KernelTemplate& kernel, const LookupValues& asked) {
  KernelVersion version;
  version.spec = std::shared_ptr<const KernelSpec>(std::shared_ptr<const void>(), &kernel.spec);  // not owned
  KernelFit fitted = fit_problem(version, asked);
  if (!fitted.problem) throw std::invalid_argument(fitted.complaint);
  return *std::move(fitted.problem);
}

}  // namespace

std::size_t LauncherCore::AskedHash::operator()(const AskedView& asked) const {
  std::size_t state = std::hash<std::string_view>()(asked.kernel);
  for (const auto& [name, value] : asked.problem) {
    state = mixed(state, std::hash<std::string_view>()(name));
    if (const auto* const size = std::get_if<std::int64_t>(&value)) {
      state = mixed(state, static_cast<std::size_t>(*size));
    } else if (const auto* const text = std::get_if<std::string>(&value)) {
      state = mixed(state, std::hash<std::string_view>()(*text));
    } else {
      state = mixed(state, std::get<bool>(value) ? 1 : 2);
    }
  }
  return state;
}

LauncherCore::LauncherCore(LaunchOptions options, std::unique_ptr<LaunchDevice> device, CubinStore::Compiler compiler, Ranked ranked)
    : options_(checked(std::move(options))),
      search_path_(template_search_path(options_.templates)),
      device_(std::move(device)),
      device_key_(to_device_key(device_->device())),
      book_(open_book(options_, search_path_)),
      ranked_(std::move(ranked)),
      cubins_(std::move(compiler)) {
  if (!ranked_ && book_) ranked_ = [this](const Query& query, std::size_t count) { return book_->ranked(query, count); };
}

LauncherCore::~LauncherCore() {
  compiling_.stop();
  refining_->stop();
}

std::shared_ptr<KernelSlot> LauncherCore::get(std::string_view kernel, const LookupValues& problem) {
  const AskedView asked{kernel, problem};
  std::shared_ptr<Entry> entry = find(asked);
  if (entry == nullptr) entry = add(asked);
  refresh(*entry);
  return entry->slot;
}

Cubin LauncherCore::cubin(std::string_view kernel, const LookupValues& problem) {
  const AskedView asked{kernel, problem};
  std::shared_ptr<Entry> entry = find(asked);
  if (entry == nullptr) entry = add(asked);
  Cubin cubin;
  cubin.about = realise(*entry->kernel, choose_for(*entry, ask(entry->query)), Loading::no, Lane::foreground).about;
  cubin.bytes = read_text_file(cubin.about.cubin_path, std::size_t{1} << 30);
  return cubin;
}

std::shared_ptr<LauncherCore::Entry> LauncherCore::find(const AskedView& asked) const {
  const std::shared_lock lock(table_mutex_);
  const auto known = asked_.find(asked);
  return known == asked_.end() ? nullptr : known->second;
}

std::shared_ptr<LauncherCore::Entry> LauncherCore::add(const AskedView& asked) {
  auto entry = std::make_shared<Entry>();
  entry->kernel = load(std::string(asked.kernel));
  entry->problem = fit(*entry->kernel, asked.problem);
  entry->slot = std::make_shared<KernelSlot>(ArgumentRules(entry->kernel->spec, entry->problem));
  entry->refine_seconds = std::make_shared<double>(options_.refine.seconds);
  Query& query = entry->query;
  query.kernel = asked.kernel;
  query.problem = entry->problem.items();
  query.device = device_key_;
  query.kernel_hash = entry->kernel->hash;
  query.objective = options_.objective;
  query.method = options_.method;
  // The same problem may be written in several ways: its handles share one entry.
  const std::string key = query.kernel + '\n' + entry->problem.canonical();
  const std::unique_lock lock(table_mutex_);
  const auto [place, added] = entries_.emplace(key, entry);
  asked_.emplace(Asked{query.kernel, asked.problem}, place->second);
  return place->second;
}

std::shared_ptr<const KernelTemplate> LauncherCore::load(const std::string& kernel) {
  const std::lock_guard lock(templates_mutex_);
  std::shared_ptr<const KernelTemplate>& loaded = templates_[kernel];
  if (loaded == nullptr) {
    try {
      loaded = std::make_shared<const KernelTemplate>(find_template(kernel, search_path_));
    } catch (const InputError& error) {
      templates_.erase(kernel);
      throw std::invalid_argument(printable(error.what()));
    }
  }
  return loaded;
}

LauncherCore::Reply LauncherCore::ask(const Query& query) const {
  if (!book_) return {};
  try {
    return {book_->best(query), ""};
  } catch (const std::invalid_argument& error) {
    return {nullptr, fmt::format("the book's versions of this kernel are for other problems: {}", error.what())};
  } catch (const std::runtime_error& error) {
    return {nullptr, fmt::format("the book could not be asked: {}", error.what())};
  }
}

KernelChoice LauncherCore::choose_for(const Entry& entry, const Reply& reply) const {
  KernelChoice choice = choose(*entry.kernel, entry.problem, device_->device(), device_->native_arch(), reply.answer);
  if (!reply.complaint.empty() && choice.fallback) add_note(choice.fallback->about.note, reply.complaint);
  return choice;
}

void LauncherCore::refresh(Entry& entry) {
  const auto now = Clock::now().time_since_epoch().count();
  if (entry.built.load(std::memory_order_acquire) && now < entry.ask_again.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(entry.mutex);
  if (entry.built && now < entry.ask_again) return;  // another thread was first
  const Reply reply = ask(entry.query);
  const bool same = entry.answer == reply.answer ||
                    (entry.answer != nullptr && reply.answer != nullptr && *entry.answer == *reply.answer);
  // A book that cannot be read for the moment takes nothing away.
  if (!entry.built || (!same && reply.complaint.empty())) {
    build(entry, reply);
    entry.answer = reply.answer;
    entry.built.store(true, std::memory_order_release);
  }
  const Clock::duration interval = book_ ? Clock::duration(options_.lookup.refresh_interval) : std::chrono::hours(24);
  entry.ask_again = now + interval.count();
}

void LauncherCore::build(Entry& entry, const Reply& reply) {
  const std::uint64_t number = entry.slot->begin();
  try {
    KernelChoice choice = choose_for(entry, reply);
    if (options_.background && choice.best) {
      build_in_background(entry, std::move(choice), number);
    } else {
      install(*entry.slot, realise(*entry.kernel, choice, Loading::yes, Lane::foreground), number);
    }
    if (!entry.slot->current()->about->pending) start_refining(entry, number);
  } catch (const std::exception& error) {
    if (entry.slot->current() == nullptr) throw;
    give_up(*entry.slot, fmt::format("the book has another answer by now, which cannot be used: {}", error.what()), number);
  }
}

void LauncherCore::build_in_background(Entry& entry, KernelChoice choice, std::uint64_t number) {
  const LaunchPlan& best = *choice.best;
  const auto compiled = cubins_.find(entry.kernel->kernel, best.instantiation, best.about.architecture);
  if (compiled || !(choice.fallback || entry.slot->current() != nullptr)) {
    install(*entry.slot, realise(*entry.kernel, choice, Loading::yes, Lane::foreground), number);
    return;
  }
  Realised meanwhile;
  if (const KernelState* const current = entry.slot->current()) {
    meanwhile = {*current->about, current->loaded};
  } else {
    std::string obstacle;
    auto realised = realise(*entry.kernel, *choice.fallback, Loading::yes, Lane::foreground, obstacle);
    if (!realised) {  // nothing to run meanwhile
      install(*entry.slot, realise(*entry.kernel, choice, Loading::yes, Lane::foreground), number);
      return;
    }
    meanwhile = *std::move(realised);
  }
  meanwhile.about.pending = true;
  install(*entry.slot, std::move(meanwhile), number);
  compiling_.push({[this, &entry, choice = std::move(choice), number] {
                     try {
                       install(*entry.slot, realise(*entry.kernel, choice, Loading::yes, Lane::background), number);
                       start_refining(entry, number);
                     } catch (const std::exception& error) {
                       give_up(*entry.slot, error.what(), number);
                     }
                   },
                   [&entry, number] {
                     give_up(*entry.slot, "the book's configuration was not compiled: the Launcher is gone; what ran so far goes on running",
                             number);
                   }});
}

std::optional<LauncherCore::Realised> LauncherCore::realise(const KernelTemplate& kernel, const LaunchPlan& plan, Loading loading,
                                                            Lane lane, std::string& obstacle) {
  return finish(kernel, plan, cubins_.get(kernel.kernel, plan.instantiation, plan.about.architecture, lane), loading, obstacle);
}

std::optional<LauncherCore::Realised> LauncherCore::finish(const KernelTemplate& kernel, const LaunchPlan& plan, const StoredCubin& cubin,
                                                           Loading loading, std::string& obstacle) {
  if (cubin.outcome != Outcome::ok) {
    obstacle = fmt::format("{} ({})", outcome_name(cubin.outcome), cubin.message);
    return std::nullopt;
  }
  Realised realised{plan.about, nullptr};
  CompiledKernel& about = realised.about;
  about.symbol = cubin.symbols.front();
  for (const PlannedLaunch& launch : plan.launches.launches) {
    about.launches.push_back({cubin.symbols.at(launch.kernel), launch.shape.grid, launch.shape.block, launch.shape.shared_bytes});
  }
  about.cubin_path = cubin.path;
  about.registers = cubin.resources.registers;
  about.cached = cubin.cached;
  about.compile_seconds = cubin.compile_seconds;
  if (!cubin.note.empty()) add_note(about.note, cubin.note);
  if (loading == Loading::yes) {
    try {
      realised.loaded = device_->load(cubin.path, recipe_of(kernel.spec, problem_of(about.problem), plan, cubin.symbols));
    } catch (const KernelRefused& refused) {
      obstacle = refused.what();
      return std::nullopt;
    }
  }
  return realised;
}

LauncherCore::Realised LauncherCore::realise(const KernelTemplate& kernel, const KernelChoice& choice, Loading loading, Lane lane) {
  std::string lost;
  if (choice.best) {
    try {
      if (auto best = realise(kernel, *choice.best, loading, lane, lost)) return *std::move(best);
    } catch (const EnvironmentError& error) {
      lost = error.what();  // no compiler: the preset may be in the cache
    }
    lost = fmt::format("the book's configuration (match: {}) is not used: {}", tier_name(choice.best->about.tier), lost);
  }
  if (!choice.fallback) throw std::runtime_error(printable(fmt::format("{}; {}", lost, choice.fallback_obstacle)));
  std::string obstacle;
  auto fallback = realise(kernel, *choice.fallback, loading, lane, obstacle);
  if (!fallback) {
    throw std::runtime_error(printable(fmt::format("kernel {}: the preset default cannot be used: {}{}{}", kernel.spec.name, obstacle,
                                                   lost.empty() ? "" : "; ", lost)));
  }
  if (!lost.empty()) add_note(fallback->about.note, lost + "; the preset default runs instead");
  return *std::move(fallback);
}

void LauncherCore::install(KernelSlot& slot, Realised realised, std::uint64_t number) {
  slot.install({std::make_shared<const CompiledKernel>(std::move(realised.about)), std::move(realised.loaded)}, number);
}

void LauncherCore::give_up(KernelSlot& slot, const std::string& reason, std::uint64_t number) {
  const KernelState& current = *slot.current();
  Realised same{*current.about, current.loaded};
  same.about.pending = false;
  add_note(same.about.note, reason);
  install(slot, std::move(same), number);
}

}  // namespace tunebook
