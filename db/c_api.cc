// The C functions over the lookup. No exception leaves this file.

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "db/answer_json.h"
#include "tunebook/lookup.h"
#include "tunebook/tunebook.h"

struct tunebook_options {
  tunebook::LookupOptions options;
};
struct tunebook_lookup {
  tunebook::Lookup lookup;
};
struct tunebook_query {
  tunebook::Query query;
};
struct tunebook_answer {
  std::shared_ptr<const tunebook::Answer> answer;
};

namespace {

using tunebook::Answer;
using tunebook::LookupValue;
using tunebook::LookupValues;

std::string& last_error() {
  thread_local std::string message;
  return message;
}

tunebook_status fail(tunebook_status status, const char* message) noexcept {
  try {
    last_error() = message;
  } catch (...) {
    last_error().clear();  // no memory for the message either
  }
  return status;
}

// Runs `body`, which returns a status, and makes a status of whatever it throws.
template <class Body>
tunebook_status guarded(Body&& body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return fail(TUNEBOOK_OUT_OF_MEMORY, "out of memory");
  } catch (const std::invalid_argument& error) {
    return fail(TUNEBOOK_INVALID_ARGUMENT, error.what());
  } catch (const std::runtime_error& error) {
    return fail(TUNEBOOK_BAD_BOOK, error.what());
  } catch (const std::exception& error) {
    return fail(TUNEBOOK_INTERNAL, error.what());
  } catch (...) {
    return fail(TUNEBOOK_INTERNAL, "unknown error");
  }
}

template <class... Pointers>
void require(const char* function, const Pointers*... pointers) {
  const bool missing = (... || (pointers == nullptr));
  if (missing) {
    throw std::invalid_argument(std::string(function) + ": an argument is NULL");
  }
}

const Answer* held(const tunebook_answer* answer) noexcept { return answer == nullptr ? nullptr : answer->answer.get(); }

// For reading (a const key) and for writing.
template <class Key>
auto text_field(Key& key, tunebook_device_field field) noexcept -> decltype(&key.name) {
  switch (field) {
    case TUNEBOOK_DEVICE_KIND: return &key.kind;
    case TUNEBOOK_DEVICE_NAME: return &key.name;
    case TUNEBOOK_DEVICE_INSTRUCTION_SET: return &key.instruction_set;
    case TUNEBOOK_DEVICE_HOST_COMPILER: return &key.host_compiler;
    default: return nullptr;
  }
}

template <class Key>
auto number_field(Key& key, tunebook_device_field field) noexcept -> decltype(&key.sm_count) {
  switch (field) {
    case TUNEBOOK_DEVICE_SM_COUNT: return &key.sm_count;
    case TUNEBOOK_DEVICE_MEMORY_GIB: return &key.memory_gib;
    case TUNEBOOK_DEVICE_MAX_THREADS_PER_BLOCK: return &key.max_threads_per_block;
    case TUNEBOOK_DEVICE_SHARED_BYTES_PER_BLOCK_OPTIN: return &key.shared_bytes_per_block_optin;
    case TUNEBOOK_DEVICE_REGISTERS_PER_BLOCK: return &key.registers_per_block;
    default: return nullptr;
  }
}

void set_value(LookupValues& values, const char* name, LookupValue value) {
  for (auto& [known, old] : values) {
    if (known == name) {
      old = std::move(value);
      return;
    }
  }
  values.emplace_back(name, std::move(value));
}

const LookupValue* find_value(const LookupValues& values, const char* name) {
  for (const auto& [known, value] : values) {
    if (known == name) {
      return &value;
    }
  }
  return nullptr;
}

// The parameter's value as Held: through `take`.
template <class Held, class Take>
tunebook_status typed_value(const tunebook_answer* answer, const char* parameter, const char* type, Take&& take) noexcept {
  return guarded([&]() -> tunebook_status {
    require("tunebook_answer value", parameter);
    const Answer* const found = held(answer);
    const LookupValue* const value = found == nullptr ? nullptr : find_value(found->configuration, parameter);
    if (value == nullptr) {
      return TUNEBOOK_NO_ANSWER;
    }
    const Held* const typed = std::get_if<Held>(value);
    if (typed == nullptr) {
      throw std::invalid_argument("parameter " + std::string(parameter) + " is not " + type);
    }
    take(*typed);
    return TUNEBOOK_OK;
  });
}

tunebook_status indexed_value(const LookupValues* values, std::size_t index, const char** name, tunebook_type* type, std::int64_t* number,
                              const char** text) noexcept {
  if (values == nullptr || index >= values->size()) {
    return TUNEBOOK_NO_ANSWER;
  }
  const auto& [its_name, value] = (*values)[index];
  const auto* const as_text = std::get_if<std::string>(&value);
  const auto* const as_bool = std::get_if<bool>(&value);
  const auto* const as_int = std::get_if<std::int64_t>(&value);
  if (name != nullptr) *name = its_name.c_str();
  if (type != nullptr) *type = as_text != nullptr ? TUNEBOOK_TEXT : as_bool != nullptr ? TUNEBOOK_BOOL : TUNEBOOK_INT;
  if (number != nullptr) *number = as_int != nullptr ? *as_int : as_bool != nullptr && *as_bool ? 1 : 0;
  if (text != nullptr) *text = as_text != nullptr ? as_text->c_str() : nullptr;
  return TUNEBOOK_OK;
}

template <class Number, class Output>
tunebook_status optional_number(const std::optional<Number>* number, Output* output) noexcept {
  if (number == nullptr || !*number) {
    return TUNEBOOK_NO_ANSWER;
  }
  if (output == nullptr) {
    return fail(TUNEBOOK_INVALID_ARGUMENT, "the place for the number is NULL");
  }
  *output = **number;
  return TUNEBOOK_OK;
}

// The numbers of C are older than the tiers `predicted` and `shipped`, so their order is another one.
tunebook_tier c_tier(tunebook::Tier tier) noexcept {
  switch (tier) {
    case tunebook::Tier::exact: return TUNEBOOK_TIER_EXACT;
    case tunebook::Tier::predicted: return TUNEBOOK_TIER_PREDICTED;
    case tunebook::Tier::near: return TUNEBOOK_TIER_NEAR;
    case tunebook::Tier::same_architecture: return TUNEBOOK_TIER_SAME_ARCHITECTURE;
    case tunebook::Tier::far: return TUNEBOOK_TIER_FAR;
    case tunebook::Tier::shipped: return TUNEBOOK_TIER_SHIPPED;
    case tunebook::Tier::preset_default: return TUNEBOOK_TIER_DEFAULT;
  }
  return -1;
}

// A copy for the caller, freed by tunebook_text_free().
char* copy_text(const std::string& text) {
  auto* const copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) {
    throw std::bad_alloc();
  }
  std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

// A new object, or null: what was thrown becomes the error.
template <class Object, class Make>
Object* made(Make&& make) noexcept {
  Object* object = nullptr;
  guarded([&]() -> tunebook_status {
    object = make();
    return TUNEBOOK_OK;
  });
  return object;
}

// Changes an object's field.
template <class Object, class Change>
tunebook_status changed(const char* function, Object* object, Change&& change) noexcept {
  return guarded([&]() -> tunebook_status {
    require(function, object);
    change();
    return TUNEBOOK_OK;
  });
}

}  // namespace

extern "C" {

int32_t tunebook_abi_version(void) { return TUNEBOOK_ABI_VERSION; }
const char* tunebook_version(void) { return TUNEBOOK_VERSION; }
const char* tunebook_last_error(void) { return last_error().c_str(); }

tunebook_options* tunebook_options_new(void) {
  return made<tunebook_options>([] { return new tunebook_options; });
}
void tunebook_options_free(tunebook_options* options) { delete options; }

tunebook_status tunebook_options_set_near_cap(tunebook_options* options, double distance) {
  return changed(__func__, options, [&] {
    if (std::isnan(distance) || distance < 0) {
      throw std::invalid_argument("the near cap is a distance, at least 0");
    }
    options->options.near_cap = distance;
  });
}

tunebook_status tunebook_options_set_refresh_interval_ms(tunebook_options* options, int64_t milliseconds) {
  return changed(__func__, options, [&] {
    constexpr std::int64_t kMost = std::int64_t{1000} * 60 * 60 * 24 * 365;  // nanoseconds of it fit into 64 bits
    if (milliseconds < 0 || milliseconds > kMost) {
      throw std::invalid_argument("the refresh interval is between 0 and a year");
    }
    options->options.refresh_interval = std::chrono::milliseconds(milliseconds);
  });
}

tunebook_status tunebook_options_set_record_misses(tunebook_options* options, const char* path) {
  return changed(__func__, options, [&] { options->options.record_misses = path == nullptr ? "" : path; });
}

tunebook_status tunebook_options_set_record_misses_per_second(tunebook_options* options, int32_t most) {
  return changed(__func__, options, [&] {
    if (most < 0) {
      throw std::invalid_argument("misses per second: at least 0");
    }
    options->options.record_misses_per_second = most;
  });
}

tunebook_status tunebook_options_add_spec(tunebook_options* options, const char* json) {
  return changed(__func__, options, [&] {
    require("tunebook_options_add_spec", json);
    options->options.more_specs_json.emplace_back(json);
  });
}

tunebook_status tunebook_options_set_no_book(tunebook_options* options, int32_t no_book) {
  return changed(__func__, options, [&] { options->options.no_book = no_book != 0; });
}

tunebook_status tunebook_options_add_shipped_book(tunebook_options* options, const char* path) {
  return changed(__func__, options, [&] {
    require("tunebook_options_add_shipped_book", path);
    options->options.shipped_books.emplace_back(path);
  });
}

tunebook_status tunebook_options_set_kept_questions(tunebook_options* options, int64_t most) {
  return changed(__func__, options, [&] {
    if (most < 0) {
      throw std::invalid_argument("kept questions: at least 0");
    }
    options->options.kept_questions = static_cast<std::size_t>(most);
  });
}

tunebook_status tunebook_open(const char* path, const tunebook_options* options, tunebook_lookup** lookup) {
  return guarded([&]() -> tunebook_status {
    require("tunebook_open", lookup);
    *lookup = nullptr;
    require("tunebook_open", path);
    *lookup = new tunebook_lookup{tunebook::Lookup(path, options == nullptr ? tunebook::LookupOptions() : options->options)};
    return TUNEBOOK_OK;
  });
}

void tunebook_close(tunebook_lookup* lookup) { delete lookup; }

tunebook_query* tunebook_query_new(const char* kernel) {
  return made<tunebook_query>([&] {
    require("tunebook_query_new", kernel);
    auto query = std::make_unique<tunebook_query>();
    query->query.kernel = kernel;
    return query.release();
  });
}
void tunebook_query_free(tunebook_query* query) { delete query; }

tunebook_status tunebook_query_set_kernel(tunebook_query* query, const char* kernel) {
  return changed(__func__, query, [&] {
    require("tunebook_query_set_kernel", kernel);
    query->query.kernel = kernel;
  });
}

tunebook_status tunebook_query_set_size(tunebook_query* query, const char* dimension, int64_t size) {
  return changed(__func__, query, [&] {
    require("tunebook_query_set_size", dimension);
    set_value(query->query.problem, dimension, size);
  });
}

tunebook_status tunebook_query_set_category(tunebook_query* query, const char* dimension, const char* value) {
  return changed(__func__, query, [&] {
    require("tunebook_query_set_category", dimension, value);
    set_value(query->query.problem, dimension, std::string(value));
  });
}

tunebook_status tunebook_query_clear_problem(tunebook_query* query) {
  return changed(__func__, query, [&] { query->query.problem.clear(); });
}

tunebook_status tunebook_query_set_device_text(tunebook_query* query, tunebook_device_field field, const char* value) {
  return changed(__func__, query, [&] {
    require("tunebook_query_set_device_text", value);
    std::string* const text = text_field(query->query.device, field);
    if (text == nullptr) {
      throw std::invalid_argument("tunebook_query_set_device_text: no text field " + std::to_string(field));
    }
    *text = value;
  });
}

tunebook_status tunebook_query_set_device_int(tunebook_query* query, tunebook_device_field field, int64_t value) {
  return changed(__func__, query, [&] {
    if (value < 0) {
      throw std::invalid_argument("tunebook_query_set_device_int: a negative number");
    }
    if (field == TUNEBOOK_DEVICE_COMPUTE_CAPABILITY) {
      if (value > std::numeric_limits<int>::max()) {
        throw std::invalid_argument("tunebook_query_set_device_int: no such compute capability");
      }
      query->query.device.compute_capability = static_cast<int>(value);
      return;
    }
    std::int64_t* const number = number_field(query->query.device, field);
    if (number == nullptr) {
      throw std::invalid_argument("tunebook_query_set_device_int: no number field " + std::to_string(field));
    }
    *number = value;
  });
}

tunebook_status tunebook_query_set_kernel_hash(tunebook_query* query, const char* hash) {
  return changed(__func__, query, [&] { query->query.kernel_hash = hash == nullptr ? "" : hash; });
}

tunebook_status tunebook_query_set_objective(tunebook_query* query, const char* objective) {
  return changed(__func__, query, [&] {
    require("tunebook_query_set_objective", objective);
    query->query.objective = objective;
  });
}

tunebook_status tunebook_query_set_method(tunebook_query* query, const char* method) {
  return changed(__func__, query, [&] {
    require("tunebook_query_set_method", method);
    query->query.method = method;
  });
}

tunebook_answer* tunebook_answer_new(void) {
  return made<tunebook_answer>([] { return new tunebook_answer; });
}
void tunebook_answer_free(tunebook_answer* answer) { delete answer; }
int32_t tunebook_answer_same(const tunebook_answer* x, const tunebook_answer* y) {
  return held(x) != nullptr && held(x) == held(y) ? 1 : 0;
}
void tunebook_answer_clear(tunebook_answer* answer) {
  if (answer != nullptr) {
    answer->answer.reset();
  }
}

tunebook_status tunebook_best(const tunebook_lookup* lookup, const tunebook_query* query, tunebook_answer* answer) {
  return guarded([&]() -> tunebook_status {
    require("tunebook_best", answer);
    try {
      require("tunebook_best", lookup, query);
      answer->answer = lookup->lookup.best(query->query);
    } catch (...) {
      answer->answer.reset();
      throw;
    }
    return answer->answer != nullptr ? TUNEBOOK_OK : TUNEBOOK_NO_ANSWER;
  });
}

tunebook_status tunebook_ranked(const tunebook_lookup* lookup, const tunebook_query* query, size_t count,
                                tunebook_answer* const* answers, size_t* found) {
  return guarded([&]() -> tunebook_status {
    require("tunebook_ranked", found);
    *found = 0;
    for (std::size_t i = 0; answers != nullptr && i < count; ++i) {
      require("tunebook_ranked", answers[i]);
      answers[i]->answer.reset();
    }
    require("tunebook_ranked", lookup, query);
    if (count > 0) {
      require("tunebook_ranked", answers);
    }
    std::vector<std::shared_ptr<const Answer>> held_answers;
    for (Answer& answer : lookup->lookup.ranked(query->query, count)) {
      held_answers.push_back(std::make_shared<const Answer>(std::move(answer)));
    }
    for (std::size_t i = 0; i < held_answers.size(); ++i) {
      answers[i]->answer = std::move(held_answers[i]);
    }
    *found = held_answers.size();
    return *found > 0 ? TUNEBOOK_OK : TUNEBOOK_NO_ANSWER;
  });
}

tunebook_status tunebook_explain(const tunebook_lookup* lookup, const tunebook_query* query, int64_t most, char** json) {
  return guarded([&]() -> tunebook_status {
    require("tunebook_explain", json);
    *json = nullptr;
    require("tunebook_explain", lookup, query);
    if (most < 0) {
      throw std::invalid_argument("tunebook_explain: a negative number of candidates");
    }
    const tunebook::Explanation explanation = lookup->lookup.explain(query->query, static_cast<std::size_t>(most));
    *json = copy_text(tunebook::to_json_line(tunebook::to_json(explanation)));
    return TUNEBOOK_OK;
  });
}

tunebook_status tunebook_answer_json(const tunebook_answer* answer, char** json) {
  return guarded([&]() -> tunebook_status {
    require("tunebook_answer_json", json);
    *json = nullptr;
    const Answer* const found = held(answer);
    if (found == nullptr) {
      return TUNEBOOK_NO_ANSWER;
    }
    *json = copy_text(tunebook::to_json_line(tunebook::to_json(*found)));
    return TUNEBOOK_OK;
  });
}

void tunebook_text_free(char* text) { std::free(text); }

tunebook_tier tunebook_answer_tier(const tunebook_answer* answer) {
  const Answer* const found = held(answer);
  return found == nullptr ? -1 : c_tier(found->tier);
}

const char* tunebook_tier_name(tunebook_tier tier) {
  using tunebook::Tier;
  for (const Tier one : {Tier::exact, Tier::predicted, Tier::near, Tier::same_architecture, Tier::far,
                         Tier::shipped, Tier::preset_default}) {
    if (c_tier(one) == tier) {
      return tunebook::tier_name(one);
    }
  }
  return "unknown";
}

double tunebook_answer_distance(const tunebook_answer* answer) {
  const Answer* const found = held(answer);
  return found == nullptr ? 0 : found->distance;
}

tunebook_stale tunebook_answer_stale(const tunebook_answer* answer) {
  const Answer* const found = held(answer);
  return found == nullptr ? -1 : static_cast<tunebook_stale>(found->stale);
}

tunebook_status tunebook_answer_int(const tunebook_answer* answer, const char* parameter, int64_t* value) {
  return typed_value<std::int64_t>(answer, parameter, "an integer", [&](std::int64_t held_value) {
    require("tunebook_answer_int", value);
    *value = held_value;
  });
}

tunebook_status tunebook_answer_bool(const tunebook_answer* answer, const char* parameter, int32_t* value) {
  return typed_value<bool>(answer, parameter, "a bool", [&](bool held_value) {
    require("tunebook_answer_bool", value);
    *value = held_value ? 1 : 0;
  });
}

tunebook_status tunebook_answer_text(const tunebook_answer* answer, const char* parameter, const char** value) {
  return typed_value<std::string>(answer, parameter, "a text", [&](const std::string& held_value) {
    require("tunebook_answer_text", value);
    *value = held_value.c_str();
  });
}

size_t tunebook_answer_value_count(const tunebook_answer* answer) {
  const Answer* const found = held(answer);
  return found == nullptr ? 0 : found->configuration.size();
}

tunebook_status tunebook_answer_value(const tunebook_answer* answer, size_t index, const char** name, tunebook_type* type, int64_t* number,
                                      const char** text) {
  const Answer* const found = held(answer);
  return indexed_value(found == nullptr ? nullptr : &found->configuration, index, name, type, number, text);
}

size_t tunebook_answer_problem_count(const tunebook_answer* answer) {
  const Answer* const found = held(answer);
  return found == nullptr ? 0 : found->problem.size();
}

tunebook_status tunebook_answer_problem(const tunebook_answer* answer, size_t index, const char** name, tunebook_type* type,
                                        int64_t* number, const char** text) {
  const Answer* const found = held(answer);
  return indexed_value(found == nullptr ? nullptr : &found->problem, index, name, type, number, text);
}

const char* tunebook_answer_device_text(const tunebook_answer* answer, tunebook_device_field field) {
  const Answer* const found = held(answer);
  const std::string* const text = found == nullptr ? nullptr : text_field(found->device, field);
  return text == nullptr ? nullptr : text->c_str();
}

int64_t tunebook_answer_device_int(const tunebook_answer* answer, tunebook_device_field field) {
  const Answer* const found = held(answer);
  if (found == nullptr) {
    return 0;
  }
  if (field == TUNEBOOK_DEVICE_COMPUTE_CAPABILITY) {
    return found->device.compute_capability;
  }
  const std::int64_t* const number = number_field(found->device, field);
  return number == nullptr ? 0 : *number;
}

const char* tunebook_answer_provenance(const tunebook_answer* answer, tunebook_provenance field) {
  const Answer* const found = held(answer);
  if (found == nullptr) {
    return nullptr;
  }
  switch (field) {
    case TUNEBOOK_SESSION: return found->session.c_str();
    case TUNEBOOK_TUNED_AT_UTC: return found->tuned_at_utc.c_str();
    case TUNEBOOK_KERNEL_HASH: return found->kernel_hash.c_str();
    case TUNEBOOK_OBJECTIVE: return found->objective.c_str();
    case TUNEBOOK_METHOD: return found->method.c_str();
    default: return nullptr;
  }
}

tunebook_status tunebook_answer_median_us(const tunebook_answer* answer, double* median_us) {
  const Answer* const found = held(answer);
  return optional_number(found == nullptr ? nullptr : &found->median_us, median_us);
}

tunebook_status tunebook_answer_interval_us(const tunebook_answer* answer, double* low_us, double* high_us) {
  const Answer* const found = held(answer);
  const tunebook_status status = optional_number(found == nullptr ? nullptr : &found->ci_low_us, low_us);
  return status != TUNEBOOK_OK ? status : optional_number(&found->ci_high_us, high_us);
}

tunebook_status tunebook_answer_registers_per_thread(const tunebook_answer* answer, int64_t* registers) {
  const Answer* const found = held(answer);
  return optional_number(found == nullptr ? nullptr : &found->registers_per_thread, registers);
}

tunebook_status tunebook_answer_shared_bytes(const tunebook_answer* answer, int64_t* bytes) {
  const Answer* const found = held(answer);
  return optional_number(found == nullptr ? nullptr : &found->shared_bytes, bytes);
}

tunebook_status tunebook_answer_expected_loss(const tunebook_answer* answer, double* share) {
  const Answer* const found = held(answer);
  return optional_number(found == nullptr ? nullptr : &found->expected_loss, share);
}

tunebook_status tunebook_answer_loss_bound(const tunebook_answer* answer, double* share) {
  const Answer* const found = held(answer);
  return optional_number(found == nullptr ? nullptr : &found->loss_bound, share);
}

tunebook_status tunebook_answer_predicted_us(const tunebook_answer* answer, double* predicted_us) {
  const Answer* const found = held(answer);
  return optional_number(found == nullptr ? nullptr : &found->predicted_us, predicted_us);
}

const char* tunebook_answer_source(const tunebook_answer* answer) {
  const Answer* const found = held(answer);
  return found == nullptr ? nullptr : found->source.c_str();
}

tunebook_tier tunebook_answer_shipped_tier(const tunebook_answer* answer) {
  const Answer* const found = held(answer);
  return found == nullptr || !found->shipped_tier ? -1 : c_tier(*found->shipped_tier);
}

}  // extern "C"
