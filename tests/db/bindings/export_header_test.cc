// Frozen headers answer as the lookup of their book does: random books and questions, one program that includes the headers.

#include "db/export_header.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "book_fixture.h"
#include "core/error.h"
#include "db/lookup_limits.h"
#include "db/store.h"
#include "random_models.h"
#include "tunebook/lookup.h"

namespace tunebook::testing {
namespace {

using ExportHeaderTest = BookTest;
using namespace std::string_literals;

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15ULL + 1) {}
  std::int64_t below(std::int64_t count) {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<std::int64_t>((state_ >> 33) % static_cast<std::uint64_t>(count));
  }
  bool chance(int percent) { return below(100) < percent; }
  template <class T>
  T one_of(std::vector<T> choices) {
    return choices[static_cast<std::size_t>(below(static_cast<std::int64_t>(choices.size())))];
  }

 private:
  std::uint64_t state_;
};

// A spec with every kind of operation in its constraints; `more` is one more constraint.
nlohmann::ordered_json spec(const std::string& kernel, const std::string& more) {
  nlohmann::ordered_json json = nlohmann::ordered_json::parse(kSpecText);
  json["kernel"] = kernel;
  json["parameters"]["KIND"] = {{"values", {"plain", "wgmma", "it's \"odd\" \\ \?\?/"}}};
  json["presets"] = nlohmann::ordered_json::parse(R"({
    "wide": {"BM": 64, "PAD": true, "KIND": "wgmma"}, "padded": {"BM": 32, "PAD": true, "KIND": "plain"},
    "general": {"BM": 16, "PAD": false, "KIND": "plain"},
    "default": [{"when": "n >= 64 and device.memory_gib > 100 and device.max_blocks_per_sm >= 32", "preset": "wide"},
                {"when": "dtype == 'f16' or 96 // (m - 32) >= 1", "preset": "padded"}, {"preset": "general"}]})");
  json["constraints"] = {more,
                         "m % BM == 0 or BM == 16",
                         "BM * BM * 4 <= device.shared_bytes",
                         "BM / 3 * 3 == BM and -7 // 2 == -4 and -7 % 3 == 2",
                         "KIND != 'wgmma' or BM in [32, 64]",
                         "16 <= BM <= min(64, max(m, 16)) < 1000",
                         "(n * m > 0) if PAD else True",
                         "log2(BM) >= 4 && is_pow2(BM) && abs(-BM) == BM",
                         "round_up(k, BM) - ceil_div(k, BM) * BM == 0",
                         "sizeof(T) <= 4 and not (BM > 64)",
                         "2 ** (BM // 16) <= 16",
                         "m * n * k <= 2 ** 62 || BM == 16"};
  json["launch"]["shared_bytes"] = "BM * BM * sizeof(T) + (1024 if PAD else 0)";
  json["launch"]["static_shared_bytes"] = "BM * 64";
  json["arch"] = "KIND == 'wgmma' ? 'sm_90a' : native";
  json["cpu"] = "KIND == 'plain'";
  json["options"] = nlohmann::json::array({"--use_fast_math"});
  if (kernel == "hostile") json.erase("work");
  if (kernel == "reals") json["work"] = {{"flops", "m * log2(n)"}};
  return json;
}

std::vector<Device> devices() {
  std::vector<Device> all;
  const auto add = [&](const char* name, int capability, std::int64_t shared, std::int64_t sms) {
    Device device = some_gpu();
    device.name = name;
    device.compute_capability = capability;
    device.limits = limits_of_compute_capability(capability);
    device.limits.shared_bytes_per_block_optin = shared;
    device.sm_count = sms;
    all.push_back(device);
  };
  add("NVIDIA H200", 90, 232448, 132);
  add("NVIDIA H100", 90, 232448, 114);
  add("NVIDIA RTX A6000", 86, 101376, 84);
  add("NVIDIA A100 \"); abort(); //", 80, 166912, 108);
  Device cpu;
  cpu.kind = "cpu";
  cpu.name = "EPYC";
  cpu.instruction_set = "x86-64 avx2";
  cpu.host_compiler = "clang 14.0.6";
  cpu.sm_count = 2;
  cpu.limits.shared_bytes_per_block_optin = 101376;
  all.push_back(cpu);
  return all;
}

const std::vector<std::int64_t> kSizes = {1, 3, 16, 32, 48, 64, 96, 128, 256, 1000, 4096, 65536, std::int64_t{1} << 30};
const std::vector<std::string> kKernels = {"plain", "\"; } int evil = system(\"false\"); // \\", "recorded", "reals"};

// What was tuned, as questions.
std::vector<Query> write_book(const std::filesystem::path& path, std::uint64_t seed) {
  std::vector<Query> tuned;
  Dice dice(seed);
  Store store(path);
  const std::vector<Device> all = devices();
  const std::int64_t winners = 60 + dice.below(60);
  for (std::int64_t i = 0; i < winners; ++i) {
    const std::int64_t which = dice.below(10);
    TrialContext context = some_context();
    context.kernel = kKernels[which < 5 ? 0 : which < 8 ? 1 : which == 9 ? 2 : 3];
    context.kernel_hash = fmt::format("hash-{}", dice.below(3));
    context.kernel_spec = spec(which < 5 ? "plain" : which < 8 ? "hostile" : "reals", dice.chance(50) ? "BM > 0" : "n // BM >= 0");
    if (which == 9) {  // a recording: its declaration cannot be read as one
      context.kernel_spec = {{"kernel", "recorded"}, {"problem", {{"m", 1}, {"n", 1}}}, {"parameters", {{"PAD", 1}, {"BM", 1}}}};
    }
    context.device = dice.one_of(all);
    context.method = dice.one_of<std::string>({"cold/2", "cold/2", "cold/3", "warm/2"});
    Problem problem = matmul_problem(dice.one_of(kSizes), dice.one_of(kSizes), dice.one_of(kSizes));
    if (dice.chance(30)) problem.set("dtype", std::string("f16"));
    Configuration configuration = tile(dice.chance(3) ? 48 : dice.one_of<std::int64_t>({16, 32, 64}), dice.chance(30));
    configuration.set("KIND", dice.one_of<std::string>({"plain", "plain", "wgmma", "it's \"odd\" \\ \?\?/"}));
    SessionRecord proposed = some_session(static_cast<std::uint64_t>(i));
    proposed.problem = problem;
    const std::string session = store.open_session(context, proposed, true).id;
    WinnerRecord winner = some_winner(session, configuration, 1.0 + static_cast<double>(dice.below(1000)) / 7);
    if (dice.chance(15)) winner.objective = "energy";
    winner.finalists.front().registers = dice.chance(30) ? -1 : 16 + dice.below(250);
    winner.finalists.front().shared_bytes = dice.chance(30) ? -1 : dice.one_of<std::int64_t>({0, 16384, 163840});
    store.record_winner(context, problem, winner);
    if (dice.chance(20)) {
      TrialRecord preset = timed_trial(0, tile(16), 5);
      preset.configuration.set("KIND", std::string("plain"));
      preset.resources.registers = dice.one_of<std::int64_t>({32, 128, 255});
      store.record_trial(session, context, problem, preset);
    }
    if (!dice.chance(10)) store.finish_session(session, 1);
    Query query;
    query.kernel = context.kernel;
    query.problem = problem.items();
    query.device = to_device_key(context.device);
    tuned.push_back(query);
  }
  add_random_models(path, seed);
  return tuned;
}

Query random_query(Dice& dice, const std::vector<Query>& tuned) {
  if (dice.chance(40)) {
    Query query = dice.one_of(tuned);
    if (dice.chance(30)) query.problem.front().second = dice.one_of(kSizes);
    if (dice.chance(20)) query.problem[2].second = std::int64_t{2} << dice.below(10);
    if (dice.chance(20)) query.problem[2].second = 3 * std::get<std::int64_t>(query.problem[2].second) / 2 + 1;
    if (dice.chance(30)) query.device.sm_count = 7;
    if (dice.chance(50)) query.kernel_hash = fmt::format("hash-{}", dice.below(4));
    return query;
  }
  Query query;
  query.kernel = dice.one_of(kKernels);
  if (dice.chance(2)) query.kernel = "unknown";
  query.problem = {{"m", dice.one_of(kSizes)}, {"n", dice.one_of(kSizes)}, {"k", dice.one_of(kSizes)}};
  if (dice.chance(40)) query.problem.emplace_back("dtype", dice.one_of<std::string>({"f32", "f16", "f16", "f64"}));
  if (dice.chance(2)) query.problem.emplace_back("width", std::int64_t{1});
  if (dice.chance(2)) query.problem.pop_back();
  if (dice.chance(2)) query.problem.front().second = dice.chance(50) ? LookupValue(true) : LookupValue(std::int64_t{0});
  query.device = to_device_key(dice.one_of(devices()));
  if (dice.chance(50)) query.device.shared_bytes_per_block_optin = query.device.max_threads_per_block = query.device.registers_per_block = 0;
  if (dice.chance(15)) query.device.name = "NVIDIA Unknown";
  if (dice.chance(10)) query.device.compute_capability = dice.one_of<int>({0, 75, 86, 100, 120});
  if (dice.chance(10)) query.device = DeviceKey{.compute_capability = 90};
  if (dice.chance(5)) query.device = DeviceKey{};
  if (dice.chance(15)) query.device.shared_bytes_per_block_optin = dice.one_of<std::int64_t>({512, 8192, 49152, 100000});
  if (dice.chance(10)) query.device.max_threads_per_block = dice.one_of<std::int64_t>({32, 128, 256});
  if (dice.chance(10)) query.device.registers_per_block = dice.one_of<std::int64_t>({1024, 8192, 32768});
  if (dice.chance(60)) query.kernel_hash = fmt::format("hash-{}", dice.below(4));
  if (dice.chance(10)) query.objective = "energy";
  query.method = dice.one_of<std::string>({"cold", "cold", "cold", "warm", "cold/2", "col", ""});
  return query;
}

// As frozen_program.cc reads it.
std::string question_text(int book, const Query& query) {
  const DeviceKey& key = query.device;
  std::string text = fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}", book, query.kernel, query.kernel_hash,
                                 query.objective, query.method, key.kind, key.name, key.compute_capability, key.instruction_set, key.sm_count,
                                 key.memory_gib, key.host_compiler, key.max_threads_per_block, key.shared_bytes_per_block_optin,
                                 key.registers_per_block);
  for (const auto& [name, value] : query.problem) {
    text += "\t" + name + "\t";
    if (const auto* number = std::get_if<std::int64_t>(&value)) {
      text += fmt::format("i:{}", *number);
    } else if (const auto* truth = std::get_if<bool>(&value)) {
      text += *truth ? "b:1" : "b:0";
    } else {
      text += "s:" + std::get<std::string>(value);
    }
  }
  return text;
}

// As frozen_program.cc writes it.
std::string describe(const Answer& answer) {
  std::array<char, 64> number{};
  std::snprintf(number.data(), number.size(), "%a", answer.distance);
  std::string text = fmt::format("{} {} {}", tier_name(answer.tier), number.data(), answer.session);
  for (const LookupValues& list : {answer.configuration, answer.problem}) {
    text += " |";
    for (const auto& [name, value] : list) {
      text += " " + name + "=";
      const auto* truth = std::get_if<bool>(&value);
      text += truth != nullptr ? std::to_string(*truth) : to_text(value);
    }
  }
  std::snprintf(number.data(), number.size(), " | %a", answer.median_us.value_or(-1));
  text += fmt::format("{} {} {} {} {} {} {} {} {}", number.data(), static_cast<int>(answer.stale), answer.device.name, answer.kernel_hash,
                      answer.objective, answer.method, answer.tuned_at_utc, answer.registers_per_thread.value_or(-1),
                      answer.shared_bytes.value_or(-1));
  for (const std::optional<double>& figure : {answer.expected_loss, answer.loss_bound, answer.predicted_us}) {
    std::snprintf(number.data(), number.size(), " %a", figure.value_or(-1));
    text += number.data();
  }
  return text;
}

// A header does not evaluate work with real numbers in it.
Answer as_the_header_says(const Query& query, Answer answer) {
  if (query.kernel == "reals") answer.predicted_us.reset();
  return answer;
}

int run(const std::string& command) { return std::system(command.c_str()) / 256; }

TEST_F(ExportHeaderTest, TheHeaderAnswersAsTheBook) {
  constexpr int kBooks = 3, kQuestions = 10000;
  const char* const namespaces[kBooks] = {"book0", "book1", "app::book2"};
  std::vector<Lookup> lookups;
  std::vector<std::vector<Query>> tuned;
  for (int i = 0; i < kBooks; ++i) {
    const std::filesystem::path book = file(fmt::format("book{}.db", i));
    tuned.push_back(write_book(book, static_cast<std::uint64_t>(i) + 1));
    const HeaderSummary summary = export_header(book, file(fmt::format("book{}.h", i)), {{}, namespaces[i]});
    EXPECT_EQ(summary.kernels, 4);
    EXPECT_EQ(summary.devices, 5);
    EXPECT_GE(summary.winners, 40);
    EXPECT_GE(summary.models, 20);
    LookupOptions options;
    options.near_cap = i == 1 ? 0.75 : kNearCap;
    lookups.emplace_back(book.string(), options);
  }
  ASSERT_EQ(run(fmt::format("'{}' {} -std=c++17 -O0 -Wall -Wextra -Wpedantic -Wshadow -Werror -I'{}' '{}' -o '{}'", TUNEBOOK_CXX,
                            TUNEBOOK_CXX_FLAGS, folder_.string(), TUNEBOOK_SOURCE_DIR "/tests/db/bindings/frozen_program.cc", file("program").string())),
            0);

  Dice dice(99);
  std::vector<std::string> expected, asked;
  std::map<std::string, int> kinds;
  std::ofstream questions(file("questions"));
  for (int i = 0; i < kQuestions; ++i) {
    const int book = static_cast<int>(dice.below(kBooks));
    const Query query = random_query(dice, tuned[static_cast<std::size_t>(book)]);
    asked.push_back(question_text(book, query));
    questions << asked.back() << '\n';
    try {
      const std::shared_ptr<const Answer> answer = lookups[static_cast<std::size_t>(book)].best(query);
      expected.push_back(answer ? describe(as_the_header_says(query, *answer)) : "nothing");
      if (answer && answer->expected_loss && answer->tier != Tier::predicted) ++kinds["nearest"];
    } catch (const std::invalid_argument&) {
      expected.push_back("not understood");
    }
    ++kinds[expected.back().substr(0, expected.back().find(' '))];
  }
  questions.close();
  ASSERT_EQ(run(fmt::format("'{}' '{}' > '{}'", file("program").string(), file("questions").string(), file("answers").string())), 0);
  std::ifstream answers(file("answers"));
  std::size_t count = 0, wrong = 0;
  for (std::string line; std::getline(answers, line); ++count) {
    ASSERT_LT(count, expected.size());
    if (line != expected[count] && ++wrong <= 5) ADD_FAILURE() << asked[count] << "\n  book:   " << expected[count] << "\n  header: " << line;
  }
  EXPECT_EQ(count, expected.size());
  EXPECT_EQ(wrong, 0U);
  for (const char* kind : {"exact", "predicted", "near", "same_architecture", "far", "default", "nothing", "not", "nearest"}) {
    EXPECT_GE(kinds[kind], 50) << kind << ": the questions are to reach every tier";
  }
}

TEST_F(ExportHeaderTest, OneKernelAndBadArguments) {
  write_book(file(), 7);
  HeaderSummary summary;
  const std::string header = header_of_book(file(), {{"plain"}, "mine"}, summary);
  EXPECT_EQ(summary.kernels, 1);
  EXPECT_NE(header.find("namespace mine {"), std::string::npos);
  EXPECT_NE(error_of([&] { header_of_book(file(), {{"plan"}, "mine"}, summary); }).find("did you mean plain?"), std::string::npos);
  for (const char* bad : {"", "1a", "a::", "::a", "a b", "a{", "_A", "a__b", "a;int x", "std::\n"}) {
    EXPECT_THROW(header_of_book(file(), {{}, bad}, summary), InputError) << bad;
  }
  EXPECT_THROW(export_header(file(), file("missing") / "x.h", {}), InputError);
  EXPECT_THROW(export_header(file("missing.db"), file("x.h"), {}), InputError);
}

TEST_F(ExportHeaderTest, NothingOfTheBookBecomesCode) {
  {
    Store store(file());
    TrialContext context = some_context();
    context.kernel = "k\"); abort(); (\"\n#error \?\?/\\ R\"x()x\" */ /* \xff\x00\x31"s;
    context.device.name = "\n#include \"/etc/passwd\"\n";
    Configuration configuration = tile(16);
    add_finished_session(store, context, matmul_problem(64, 64, 64), configuration, 10);
  }
  HeaderSummary summary;
  const std::string header = header_of_book(file(), {}, summary);
  // Only directives of the header's own, and no byte beyond plain text.
  std::istringstream lines(header);
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && line[0] == '#') {
      EXPECT_TRUE(line == "#pragma once" || line.starts_with("#include <")) << line;
    }
  }
  for (const char c : header) {
    ASSERT_TRUE(c == '\n' || (c >= ' ' && c <= '~'));
  }
  EXPECT_EQ(header.find("\"); abort"), std::string::npos) << "quotes of the book are escaped";
}

}  // namespace
}  // namespace tunebook::testing
