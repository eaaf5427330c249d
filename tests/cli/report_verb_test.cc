// tunebook report and tunebook compare: their numbers are the book's, whatever the book holds, and the book is left as it is.
#include <sys/stat.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli_support.h"  // before tunebook::testing is there

#include "../db/book_fixture.h"
#include "core/random.h"

namespace tunebook::test {
namespace {

namespace fixture = tunebook::testing;
using Words = std::vector<std::string>;

constexpr const char* kHostile = "<script>alert(1)</script> \"quotes\" 'single' | `code` \xE2\x80\xAE" "txt.exe @user";

class ReportVerb : public CliTest {
 protected:
  // A session with presets, failures, an abandoned trial, a proposal that was tried twice, finalists and a baseline.
  std::string add_session(Store& store, std::int64_t size, const std::string& date, double scale, std::uint64_t seed) {
    TrialContext context = fixture::some_context();
    context.method = "cold/2";
    context.toolchain = "nvrtc 13.0; driver 580.1";
    const Problem problem = fixture::matmul_problem(size, size, 64);
    SessionRecord proposed = fixture::some_session(seed);
    proposed.problem = problem;
    proposed.identity["problem"] = problem.display();
    const std::string session = store.open_session(context, proposed, true).id;
    Random random(seed + static_cast<std::uint64_t>(size));
    const auto jitter = [&] { return 1 + static_cast<double>(random.below(1000)) * 1e-4; };
    std::int64_t order = 0;
    const auto record = [&](TrialRecord trial, const std::string& origin) {
      trial.order = order++;
      trial.origin = origin;
      store.record_trial(session, context, problem, trial);
    };
    record(fixture::timed_trial(0, fixture::tile(16, false), 30 * scale * jitter()), "preset:default");
    record(fixture::timed_trial(0, fixture::tile(64, true), 20 * scale * jitter()), "preset:big");
    record(fixture::timed_trial(0, fixture::tile(32, false), 12 * scale * jitter()), "strategy");
    TrialRecord lost = fixture::failed_trial(0, fixture::tile(32, true), Outcome::worker_lost);
    record(lost, "strategy");
    --order;
    record(fixture::timed_trial(0, fixture::tile(32, true), 11 * scale * jitter()), "strategy");
    TrialRecord wrong = fixture::failed_trial(0, fixture::tile(64, false), Outcome::wrong_result);
    wrong.message = fmt::format("c[{}] is wrong\n{}", order, kHostile);
    record(wrong, "strategy");
    TrialRecord slow = fixture::timed_trial(0, fixture::tile(16, true), 90 * scale * jitter());
    slow.outcome = Outcome::abandoned;
    record(slow, "strategy");

    WinnerRecord winner = fixture::some_winner(session, fixture::tile(32, true), 0);
    FinalistRecord other = winner.finalists.front();
    winner.finalists.push_back(other);
    winner.finalists[1].configuration = fixture::tile(32, false);
    winner.finalists[1].in_tie_set = false;
    BaselineRecord baseline;
    baseline.operation = "gemm";
    baseline.name = "cuBLAS 13.0.2";
    baseline.method = context.method;
    for (std::size_t finalist = 0; finalist < 2; ++finalist) {
      FinalistRecord& each = winner.finalists[finalist];
      each.process_medians_us.clear();
      for (int process = 0; process < 10; ++process) each.process_medians_us.push_back((finalist == 0 ? 11 : 12) * scale * (1 + 0.001 * (process % 5 - 2)));
      each.median_us = (finalist == 0 ? 11 : 12) * scale;
      each.ci_low_us = each.median_us * 0.998;
      each.ci_high_us = each.median_us * 1.002;
    }
    for (int process = 0; process < 10; ++process) baseline.process_medians_us.push_back(13 * scale * (1 + 0.002 * (process % 3 - 1)));
    baseline.median_us = 13 * scale;
    baseline.ci_low_us = 12.9 * scale;
    baseline.ci_high_us = 13.1 * scale;
    winner.median_us = winner.finalists[0].median_us;
    winner.ci_low_us = winner.finalists[0].ci_low_us;
    winner.ci_high_us = winner.finalists[0].ci_high_us;
    store.record_winner(context, problem, winner);
    store.record_baseline(session, baseline);
    store.finish_session(session, 12.5);
    ended_.emplace_back(session, date);
    return session;
  }

  // Sessions end when they are written; what a test wants is set afterwards.
  void set_dates() const {
    for (const auto& [session, date] : ended_) {
      fixture::run_sql(book(), fmt::format("UPDATE session SET finished_utc = '{0}T10:00:{2:02}.000000Z', started_utc = '{0}T09:00:00.000000Z' WHERE uid = '{1}'",
                                           date, session, &session - &ended_.front().first));
    }
  }

  void make_book(double last_scale = 1) {
    Store store(book());
    for (int night = 0; night < 6; ++night) {
      for (const std::int64_t size : {64, 128, 256}) {
        const bool changed = night == 5 && size == 128;
        add_session(store, size, fmt::format("2026-11-2{}", night + 1), static_cast<double>(size) * (1 + 0.001 * (night % 2)) * (changed ? last_scale : 1),
                    static_cast<std::uint64_t>(night));
      }
    }
    const Device device = fixture::some_gpu();
    store.record_ceilings(device, {{"driver", "580.1"}}, {{"copy", 1 << 20, "cold/2", 4250, 4240, 4260}, {"fma_f32", 0, "cold/2", 60000, 59000, 61000}});
    set_dates();
  }

  ProgramResult report(Words more) {
    more.insert(more.begin(), {"report", book().string()});
    return run(more);
  }

  // What the check says of the report of the whole book; "" if it agrees.
  std::string check(const std::filesystem::path& of_book) {
    const std::string json = (folder() / "report.json").string(), markdown = (folder() / "report.md").string();
    const ProgramResult result = run({"report", of_book.string(), "--json=" + json, "--markdown", markdown});
    if (result.exit_code != 0) return result.err;
    const std::string command = fmt::format("python3 '{}/tests/cli/check_report.py' '{}' '{}' '{}' '{}/reports/report.schema.json' 2>&1", TUNEBOOK_SOURCE_DIR,
                                            of_book.string(), json, markdown, TUNEBOOK_SOURCE_DIR);
    std::FILE* const pipe = popen(command.c_str(), "r");
    std::string said;
    std::array<char, 4096> buffer{};
    while (const std::size_t size = std::fread(buffer.data(), 1, buffer.size(), pipe)) said.append(buffer.data(), size);
    const int status = pclose(pipe);
    return status == 0 && said.find(": 0 problems") != std::string::npos ? std::string() : said + " (needs python3)";
  }

  std::vector<std::pair<std::string, std::string>> ended_;
};

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST_F(ReportVerb, NumbersAreTheBooks) {
  make_book();
  EXPECT_EQ(check(book()), "");
  const auto json = run_json({"report", book().string(), "--json"});
  ASSERT_EQ(json["items"].size(), 3u);
  const auto& item = json["items"][0];
  EXPECT_EQ(item["problem"]["m"], 64);
  EXPECT_EQ(item["trend"].size(), 6u);
  EXPECT_EQ(item["session_count"], 6);
  EXPECT_EQ(item["ladder"].size(), 3u);
  EXPECT_EQ(item["ladder"][2]["name"], "winner");
  EXPECT_EQ(item["failures"].size(), 1u);
  EXPECT_EQ(json["failures"][0]["count"], 18);
  EXPECT_FALSE(json["outcomes"].contains("worker_lost"));  // it was tried again
  EXPECT_TRUE(has(item["reproduction"]["command"], "tunebook tune matmul --shape m=64,n=64,k=64,dtype=f32")) << item["reproduction"];
  EXPECT_TRUE(has(item["reproduction"]["command"], "--where 'BM <= 64' --where PAD")) << item["reproduction"];
}

TEST_F(ReportVerb, NumbersOfACpuSessionAreTheBooks) {
  const Words tune = {"tune", "vector_add", "--templates", user_kernels(), "--device", "cpu", "--budget", "3", "--finalists", "2", "--finalist-processes", "2",
                      "--book", book().string(), "--shape"};
  Words words = tune;
  words.push_back("n=1000");
  ASSERT_EQ(run(words).exit_code, 0);
  const auto json = run_json({"report", book().string(), "--json"});
  ASSERT_EQ(json["items"].size(), 1u);
  const auto& item = json["items"][0];
  const double median_us = item["winner"]["time"]["median_us"];
  EXPECT_NEAR(item["winner"]["gflops"].get<double>(), 1000 / median_us * 1e-3, 1e-9);
  EXPECT_NEAR(item["winner"]["gbps"].get<double>(), 12000 / median_us * 1e-3, 1e-9);
  EXPECT_EQ(item["device_kind"], "cpu");
  EXPECT_TRUE(has(run({"report", book().string()}).out, "no prediction for a GPU"));
  // The command is what was given.
  EXPECT_TRUE(has(item["reproduction"]["command"], "--device cpu --strategy auto --budget 3 --seed 0 --finalists 2 --finalist-processes 2")) << item["reproduction"];
}

TEST_F(ReportVerb, IntervalsOfFewProcessesClaimLess) {
  {
    Store store(book());
    fixture::add_finished_session(store, fixture::some_context(), fixture::matmul_problem(64, 64, 64), fixture::tile(32), 10);  // three processes
  }
  EXPECT_EQ(check(book()), "");
  const auto json = run_json({"report", book().string(), "--json"});
  EXPECT_EQ(json["items"][0]["winner"]["time"]["ci_coverage"], 0.75);
  EXPECT_TRUE(has(report({}).out, "winner (75 % interval)")) << report({}).out;
  const std::string page = report({"--html", "-"}).out;
  EXPECT_TRUE(has(page, "75 % interval"));
  EXPECT_FALSE(has(page, "95 % interval"));
  // A published book does not know from how many processes an interval comes.
  const std::filesystem::path published = folder() / "published.db";
  ASSERT_EQ(run({"publish", published.string(), "--book", book().string()}).exit_code, 0);
  EXPECT_EQ(run_json({"report", published.string(), "--json"})["items"][0]["winner"]["time"]["ci_coverage"], nullptr);
  EXPECT_FALSE(has(run({"report", published.string(), "--html", "-"}).out, "95 % interval"));
}

// Sessions of a sweep that timed again what was known already.
TEST_F(ReportVerb, SessionsWithoutASearchSaySo) {
  std::string search;
  {
    Store store(book());
    const TrialContext context = fixture::some_context();
    const auto add = [&](std::int64_t size, const std::string& strategy, const std::string& of) {
      SessionRecord proposed = fixture::some_session(static_cast<std::uint64_t>(size));
      proposed.problem = fixture::matmul_problem(size, size, size);
      proposed.strategy = strategy;
      proposed.budget = strategy == "random" ? "60" : "0";
      proposed.identity = {{"problem", proposed.problem.display()}, {"strategy", strategy}};
      if (!of.empty()) proposed.identity["finalists_of"] = of;
      const std::string session = store.open_session(context, proposed, true).id;
      store.record_trial(session, context, proposed.problem, fixture::timed_trial(0, fixture::tile(32), 10));
      if (strategy == "random") return session;  // cut short
      store.record_winner(context, proposed.problem, fixture::some_winner(session, fixture::tile(32), 10));
      store.finish_session(session, 1);
      return session;
    };
    add(64, "retime", "");
    search = add(128, "random", "");
    add(128, "finalists", search);
  }
  const auto json = run_json({"report", book().string(), "--json"});
  ASSERT_EQ(json["items"].size(), 2u);
  EXPECT_EQ(json["items"][0]["session_kind"], "retime");
  EXPECT_EQ(json["items"][1]["session_kind"], "finalists");
  const std::string retimed = json["items"][0]["reproduction"]["command"], finalists = json["items"][1]["reproduction"]["command"];
  EXPECT_TRUE(has(retimed, " --retime ")) << retimed;
  EXPECT_FALSE(has(retimed, "--strategy")) << "there is no strategy of that name: " << retimed;
  EXPECT_TRUE(has(finalists, "--strategy random --budget 60")) << "of the search that was cut: " << finalists;
  const ProgramResult terminal = report({}), page = report({"--html", "-"}), markdown = report({"--markdown", "-"});
  for (const ProgramResult* result : {&terminal, &page, &markdown}) {
    EXPECT_TRUE(has(result->out, "re-timed the standing winner; no search")) << result->out;
    EXPECT_TRUE(has(result->out, "timed the finalists of a search that was cut short")) << result->out;
  }
}

// What a search found stays in the report of the nights after it, which only time its winner again.
TEST_F(ReportVerb, ARetimedShapeKeepsItsSearch) {
  std::string search, retime, open;
  {
    Store store(book());
    const TrialContext context = fixture::some_context();
    const auto add = [&](const std::string& strategy, int trials, bool finished) {
      SessionRecord proposed = fixture::some_session(1);
      proposed.strategy = strategy;
      proposed.identity = {{"strategy", strategy}, {"n", ended_.size()}};
      const std::string session = store.open_session(context, proposed, true).id;
      for (int i = 0; i < trials; ++i) {
        store.record_trial(session, context, proposed.problem, fixture::timed_trial(i, fixture::tile(std::int64_t{16} << (i / 2), i % 2 == 1), 20 - i));
      }
      if (finished) {
        store.record_winner(context, proposed.problem, fixture::some_winner(session, fixture::tile(32), 10));
        store.finish_session(session, 1);
      }
      ended_.emplace_back(session, "");
      return session;
    };
    search = add("random", 6, true);
    retime = add("retime", 2, true);
    open = add("retime", 1, false);
  }
  const auto at = [&](const std::string& session, const std::string& started, const std::string& finished) {
    fixture::run_sql(book(), fmt::format("UPDATE session SET started_utc = '{}', finished_utc = {} WHERE uid = '{}'", started, finished, session));
  };
  at(search, "2026-11-01T01:00:00Z", "'2026-11-01T02:00:00Z'");
  at(retime, "2026-11-02T01:00:00Z", "'2026-11-02T02:00:00Z'");
  at(open, "2026-11-03T01:00:00Z", "NULL");
  EXPECT_EQ(check(book()), "");
  for (const std::string& side : {book().string(), book().string() + "#date=2026-11-02"}) {
    const auto json = run_json({"report", side, "--json"});
    ASSERT_EQ(json["items"].size(), 1u);
    const auto& item = json["items"][0];
    EXPECT_EQ(item["session"], retime);
    EXPECT_EQ(item["trial_count"], 2);
    EXPECT_EQ(item["search"]["session"], search);
    EXPECT_EQ(item["search"]["date"], "2026-11-01");
    EXPECT_EQ(item["search"]["trial_count"], 6);
    EXPECT_EQ(item["search"]["trials"].size(), 6u);
    EXPECT_EQ(item["search"]["convergence"].size(), 6u);
    EXPECT_EQ(item["search"]["effects"].size(), 2u);
    ASSERT_EQ(item["trend"].size(), 2u);
    EXPECT_EQ(item["trend"][0]["session_kind"], "search");
    EXPECT_EQ(item["trend"][1]["session_kind"], "retime");
    // The totals count what was asked for.
    EXPECT_EQ(json["trial_count"], side == book().string() ? 9 : 2);
    EXPECT_EQ(has(json["notes"].dump(), "the newest session of 1 of 1 shape is not finished"), side == book().string()) << json["notes"];
  }
  EXPECT_TRUE(has(report({"--html", "-"}).out, "The search before it, <bdi>2026-11-01"));
}

TEST_F(ReportVerb, AKernelWithoutArithmeticHasNoRateOfIt) {
  {
    Store store(book());
    TrialContext context = fixture::some_context();
    context.kernel_spec["work"]["flops"] = "0";
    fixture::add_finished_session(store, context, fixture::matmul_problem(64, 64, 64), fixture::tile(32), 10);
  }
  const auto json = run_json({"report", book().string(), "--json"});
  const auto& item = json["items"][0];
  EXPECT_EQ(item["flops"], 0.0);
  EXPECT_TRUE(item["winner"]["gflops"].is_null());
  EXPECT_GT(item["winner"]["gbps"], 0.0);
  EXPECT_TRUE(has(json["notes"].dump(), "tunebook calibrate")) << "without ceilings: " << json["notes"];
  for (const Words& more : {Words{}, {"--markdown", "-"}, {"--html", "-"}}) {
    const std::string text = report(more).out;
    EXPECT_TRUE(has(text, "GB/s")) << text;
    EXPECT_FALSE(has(text, "FLOP/s")) << text;
  }
}

// The published book of a night on an H200 that README's pictures come from.
TEST_F(ReportVerb, TheExampleBookAnswers) {
  const std::string example = TUNEBOOK_SOURCE_DIR "/reports/example/night.db";
  const auto best = [&](const std::string& kernel, const std::string& shape) {
    return run_json({"best", kernel, "--templates", TUNEBOOK_SOURCE_DIR "/templates", "--shape", shape, "--gpu", "NVIDIA H200", "--book", example, "--json"});
  };
  const auto transpose = best("transpose", "8192,8192");
  EXPECT_EQ(transpose["match"]["tier"], "exact");
  EXPECT_EQ(transpose["configuration"]["TILE_M"], 64);
  EXPECT_NEAR(transpose["median_us"].get<double>(), 128.9, 0.1);
  EXPECT_EQ(best("matmul", "4096,4096,4096")["configuration"]["BN"], 256);
  EXPECT_EQ(best("matmul", "4000,4096,4096")["match"]["tier"], "near");

  const auto json = run_json({"report", example, "--json"});
  ASSERT_EQ(json["items"].size(), 40u);
  for (const auto& item : json["items"]) {
    EXPECT_FALSE(item["winner"].is_null()) << item["problem"];
    EXPECT_EQ(item["winner"]["gflops"].is_null(), item["kernel"] == "transpose") << item["problem"];
    EXPECT_GT(item["winner"]["gbps"], 0.0) << item["problem"];
  }
  const std::string page = run({"report", example, "--html", "-"}).out;
  EXPECT_TRUE(has(page, "40 shapes, 5 kernels, 1 device: 40 winners"));
  EXPECT_TRUE(has(page, "transpose: best GB/s"));
  EXPECT_FALSE(has(page, "0 trials"));
}

TEST_F(ReportVerb, FiltersChooseSessions) {
  make_book();
  EXPECT_EQ(run_json({"report", book().string() + "#date=2026-11-23", "--json"})["side"]["session_count"], 3);
  EXPECT_EQ(run_json({"report", "--book", book().string(), "#date=latest", "--json"})["side"]["last_utc"].get<std::string>().substr(0, 10), "2026-11-26");
  EXPECT_EQ(run_json({"report", book().string(), "--since", "2026-11-24", "--until", "2026-11-25", "--json"})["side"]["session_count"], 6);
  EXPECT_EQ(run_json({"report", book().string(), "--since", "2026-11-24T10", "--until", "2026-11-25T09:30", "--json"})["side"]["session_count"], 3);
  EXPECT_EQ(run_json({"report", book().string(), "--device", "h200", "--device", "sm_90", "--driver", "580", "--json"})["side"]["session_count"], 18);
  const std::string session = ended_[4].first;
  const auto json = run_json({"report", book().string() + "#session=" + session.substr(0, 12) + "#kernel=matmul", "--json"});
  EXPECT_EQ(json["items"][0]["session"], session);
  EXPECT_EQ(json["items"][0]["trend"].size(), 2u);  // the nights up to then
  EXPECT_EQ(json["side"]["filter"].size(), 2u);
}

TEST_F(ReportVerb, UnknownValuesNameTheNearest) {
  make_book();
  const auto refused = [&](const Words& more, const std::vector<std::string>& parts) {
    const ProgramResult result = report(more);
    EXPECT_EQ(result.exit_code, 2) << result.out;
    EXPECT_EQ(result.out, "");
    for (const std::string& part : parts) EXPECT_TRUE(has(result.err, part)) << result.err;
  };
  refused({"--kernel", "matmull"}, {"no session of kernel 'matmull'", "did you mean 'matmul'?"});
  refused({"--device", "NVIDIA H300"}, {"NVIDIA H300", "did you mean 'NVIDIA H200'?"});
  refused({"--session", "zzzz"}, {"no session of session 'zzzz'"});
  refused({"--date", "2026-11-30"}, {"2026-11-30", "2026-11-26"});
  refused({"--date", "yesterday"}, {"no date", "latest or previous"});
  refused({"--since", "soon"}, {"--since", "7d"});
  refused({"--toolkit", "12.8"}, {"12.8", "nvrtc 13.0"});
  refused({"--date", "2026-02-30"}, {"'2026-02-30' is no date"});
  for (const char* const time : {"2026-11-29T25:00", "2026-11-29T24", "2026-11-29T14:60", "2026-02-30", "2026-00-01", "2026-11-00"}) {
    refused({"--since", time}, {"--since", time, "is no time"});
  }
  refused({"--until", "2020-01-01"}, {"no session has all of this", "until 2020-01-01"});
  const ProgramResult key = run({"report", book().string() + "#dat=2026-11-21"});
  EXPECT_EQ(key.exit_code, 2);
  EXPECT_TRUE(has(key.err, "#date=")) << key.err;
  const ProgramResult none = run({"report", (folder() / "none.db").string()});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_TRUE(has(none.err, "none.db") && has(none.err, "tune a kernel first")) << none.err;
  EXPECT_FALSE(std::filesystem::exists(folder() / "none.db"));
  EXPECT_EQ(run({"report", write("text.db", "this is no database at all, but some text of more than a hundred bytes, so that it is read as a header of one")}).exit_code, 2);
}

TEST_F(ReportVerb, SidesOfAnyTextAreTakenOrRefused) {
  make_book();
  Random random(9);
  constexpr std::string_view kLetters = "#=abdestinc-0123456789/ \"'\xC3\xA4\x80";
  for (int round = 0; round < 25; ++round) {
    std::string side = book().string() + (random.below(2) == 0 ? "#date=2026-11-2" : "#device=NVIDIA");
    for (std::uint64_t letters = random.below(8); letters > 0; --letters) side.insert(side.size() - random.below(10), 1, kLetters[random.below(kLetters.size())]);
    const ProgramResult result = run({"report", side, "--json"});
    EXPECT_TRUE(result.exit_code == 0 || (result.exit_code == 2 && !result.err.empty() && result.out.empty())) << side << ": " << result.exit_code << result.err;
  }
}

TEST_F(ReportVerb, BooksWithLittleInThem) {
  { Store empty(book()); }
  const auto json = run_json({"report", book().string(), "--json"});
  EXPECT_EQ(json["items"].size(), 0u);
  EXPECT_TRUE(has(json["notes"][0], "no session yet"));
  EXPECT_EQ(report({}).exit_code, 0);
  EXPECT_EQ(report({"--html", (folder() / "empty.html").string(), "--markdown", "-"}).exit_code, 0);
  EXPECT_EQ(report({"--kernel", "matmul"}).exit_code, 2);

  Store store(book());  // a session that is not finished, and one in which nothing passed
  TrialContext context = fixture::some_context();
  const std::string open = store.open_session(context, fixture::some_session(), false).id;
  store.record_trial(open, context, fixture::matmul_problem(64, 64, 64), fixture::failed_trial(0, fixture::tile(16), Outcome::fault));
  EXPECT_TRUE(has(run_json({"report", book().string(), "--json"})["notes"][0], "no session is finished yet"));
  context.method = "warm/2";
  const std::string failed = store.open_session(context, fixture::some_session(2), false).id;
  store.record_trial(failed, context, fixture::matmul_problem(64, 64, 64), fixture::failed_trial(0, fixture::tile(16), Outcome::compile_error));
  store.finish_session(failed, 1);
  const auto without = run_json({"report", book().string(), "--json"});
  ASSERT_EQ(without["items"].size(), 2u);
  for (const auto& item : without["items"]) {
    EXPECT_EQ(item["winner"], nullptr);
    EXPECT_EQ(item["trend"].size(), 0u);
    EXPECT_EQ(item["trial_count"], 1);
    EXPECT_EQ(item["random_expectation"].size(), 0u);
  }
  EXPECT_TRUE(has(without["notes"][0], "no session has found a winner"));
  EXPECT_TRUE(has(report({}).out, "not finished"));
  EXPECT_EQ(check(book()), "");
}

TEST_F(ReportVerb, HostileTextsAreText) {
  make_book();
  std::string long_line(10'000, 'x');
  ASSERT_EQ(fixture::run_sql(book(), fmt::format("UPDATE trial SET message = '{0}{1}' || CAST(x'fffe80' AS TEXT) WHERE outcome = 'wrong_result' AND id % 2 = 0;"
                                                 "UPDATE trial SET message = CAST(x'1b5b33316dc328' AS TEXT) WHERE outcome = 'wrong_result' AND id % 2 = 1;"
                                                 "UPDATE kernel SET name = '{0}'; UPDATE baseline SET name = '{0}', message = '{0}{1}';"
                                                 "UPDATE device SET json = json_set(json, '$.name', '{0}');"
                                                 "UPDATE configuration SET json = json_set(json, '$.\"<xyz>\"', '{0}');",
                                                 std::string(kHostile).replace(std::string(kHostile).find('\''), 0, "'").replace(std::string(kHostile).rfind('\'') + 1, 0, "'"), long_line)),
            "");
  EXPECT_EQ(check(book()), "");
  const ProgramResult terminal = report({});
  EXPECT_EQ(terminal.exit_code, 0) << terminal.err;
  EXPECT_FALSE(has(terminal.out, "\x1b"));
  EXPECT_FALSE(has(terminal.out, "\xE2\x80\xAE"));
  const ProgramResult page = report({"--html", "-"});
  EXPECT_EQ(page.exit_code, 0);
  EXPECT_FALSE(has(page.out, "<script>alert"));
  EXPECT_FALSE(has(page.out, "<xyz>"));
  const ProgramResult markdown = report({"--markdown", "-"});
  EXPECT_FALSE(has(markdown.out, "\x1b"));
  const auto json = run_json({"report", book().string(), "--json"});
  EXPECT_EQ(json["items"][0]["kernel"], kHostile);
}

TEST_F(ReportVerb, ImpossibleNumbersAreNoNumbers) {
  make_book();
  ASSERT_EQ(fixture::run_sql(book(), "UPDATE trial SET compile_seconds = 9e999, verify_seconds = -9e999, time_seconds = -5;"
                                     "UPDATE session SET wall_seconds = 9e999 WHERE id % 2 = 0; UPDATE session SET wall_seconds = -1 WHERE id % 2 = 1;"
                                     "UPDATE trial SET median_us = CASE id % 3 WHEN 0 THEN 0 WHEN 1 THEN -1 ELSE 9e999 END WHERE median_us IS NOT NULL;"
                                     "UPDATE baseline SET median_us = 9e999 WHERE id % 2 = 0; UPDATE baseline SET median_us = 0 WHERE id % 2 = 1;"),
            "");
  for (const Words& output : {Words{}, Words{"--html", "-"}, Words{"--markdown", "-"}}) {
    const ProgramResult result = report(output);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    for (const char* const number : {">inf", "-inf", "nan%", "\xC3\x97-nan", "inf %", "\"inf\"", " inf ", "922337203685477", "-5 s", "153722867280912"}) {
      EXPECT_FALSE(has(result.out, number)) << number << " in " << result.out.substr(result.out.find(number), 100);
    }
  }
  const auto json = run_json({"report", book().string(), "--json"});
  for (const char* const part : {"compile_s", "verify_s", "time_s", "wall_s"}) EXPECT_EQ(json["cost"][part], 0) << part;
  EXPECT_FALSE(json["items"][0]["winner"].is_null());

  // A problem without the dimensions that the kernel's work is computed from.
  ASSERT_EQ(fixture::run_sql(book(), "UPDATE problem SET json = '{}' WHERE id = 1"), "");
  EXPECT_EQ(report({}).exit_code, 0);
  ASSERT_EQ(fixture::run_sql(book(), "UPDATE problem SET json = '[1]' WHERE id = 1"), "");
  const ProgramResult array = report({});
  EXPECT_EQ(array.exit_code, 2);
  EXPECT_TRUE(has(array.err, book().string() + ": problem 1")) << array.err;
}

TEST_F(ReportVerb, OutputsAreWholeOrNotThere) {
  make_book();
  const std::filesystem::path html = folder() / "page.html";
  const ProgramResult nowhere = report({"--html", (folder() / "none" / "page.html").string()});
  EXPECT_EQ(nowhere.exit_code, 2);
  EXPECT_TRUE(has(nowhere.err, "there is no folder")) << nowhere.err;
  EXPECT_EQ(report({"--html", book().string()}).exit_code, 2);
  EXPECT_EQ(report({"--html", folder().string()}).exit_code, 2);
  EXPECT_EQ(report({"--html", html.string(), "--markdown", html.string()}).exit_code, 2);
  EXPECT_EQ(report({"--html", "-", "--json"}).exit_code, 2);
  for (const char* const option : {"--html", "--markdown", "--book"}) {
    const ProgramResult unnamed = report({option, ""});
    EXPECT_EQ(unnamed.exit_code, 2) << option;
    EXPECT_TRUE(has(unnamed.err, "the path is empty")) << unnamed.err;
  }
  // What would be renamed over is no file, or holds what the book has not taken in yet.
  const std::filesystem::path pipe = folder() / "pipe", wal = book().string() + "-wal";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const ProgramResult into_pipe = report({"--html", pipe.string()});
  EXPECT_EQ(into_pipe.exit_code, 2);
  EXPECT_TRUE(has(into_pipe.err, "this is no regular file")) << into_pipe.err;
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  const ProgramResult into_wal = report({"--html", wal.string()});
  EXPECT_EQ(into_wal.exit_code, 2);
  EXPECT_TRUE(has(into_wal.err, "belongs to the database")) << into_wal.err;
  EXPECT_FALSE(std::filesystem::exists(html));
  write("page.html", "old");
  EXPECT_EQ(report({"--html", html.string(), "--kernel", "none"}).exit_code, 2);
  EXPECT_EQ(read_file(html), "old");
  const ProgramResult done = report({"--html", html.string(), "--json=" + (folder() / "r.json").string()});
  EXPECT_EQ(done.exit_code, 0);
  EXPECT_EQ(done.out, "");
  EXPECT_TRUE(has(read_file(html), "<html"));
  parse_one_line(read_file(folder() / "r.json"));
  for (const auto& entry : std::filesystem::directory_iterator(folder())) EXPECT_FALSE(entry.path().filename().string().starts_with(".")) << entry.path();
}

TEST_F(ReportVerb, TheBookIsOnlyRead) {
  for (const char* version : {"version_1.db", "version_3.db"}) {
    const std::filesystem::path old = folder() / "read_only" / version;
    std::filesystem::create_directories(old.parent_path());
    std::filesystem::permissions(old.parent_path(), std::filesystem::perms::owner_all);
    std::filesystem::copy_file(std::string(TUNEBOOK_SOURCE_DIR "/tests/data/books/") + version, old);
    const std::string before = read_file(old);
    std::filesystem::permissions(old, std::filesystem::perms::owner_read);
    std::filesystem::permissions(old.parent_path(), std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
    const auto json = run_json({"report", old.string(), "--json"});
    EXPECT_GE(json["items"].size(), 1u) << version;
    EXPECT_FALSE(json["items"][0]["winner"].is_null());
    EXPECT_TRUE(has(json["notes"].dump(), "the book has version")) << json["notes"];
    EXPECT_EQ(read_file(old), before) << version;
    std::filesystem::permissions(old.parent_path(), std::filesystem::perms::owner_all);
  }
  make_book();
  const std::filesystem::path published = folder() / "published.db";
  ASSERT_EQ(run({"publish", published.string(), "--book", book().string()}).exit_code, 0);
  const auto json = run_json({"report", published.string(), "--json"});
  EXPECT_EQ(json["items"].size(), 3u);
  EXPECT_EQ(json["trial_count"], 0);
  EXPECT_EQ(json["side"]["published"], true);
  EXPECT_TRUE(has(json["notes"].dump(), "a published book holds winners only"));
}

// A copy of a book in which one shape was tuned again.
TEST_F(ReportVerb, CompareSaysWhatStandsOnBothSides) {
  make_book();
  const std::filesystem::path copy = folder() / "copy.db";
  ASSERT_EQ(run({"merge", book().string(), "--book", copy.string()}).exit_code, 0);
  ended_.clear();
  {
    Store store(copy);
    add_session(store, 64, "2026-11-28", 64, 9);
  }
  fixture::run_sql(copy, fmt::format("UPDATE session SET finished_utc = '2026-11-28T10:00:00.000000Z' WHERE uid = '{}'", ended_.front().first));
  const Words sides = {"compare", book().string(), copy.string(), "--json"};
  const auto json = run_json(sides);
  EXPECT_EQ(json["exit_code"], 0);
  EXPECT_EQ(json["counts"]["unchanged"], 1);
  EXPECT_EQ(json["counts"]["inconclusive"], 2);
  for (const auto& item : json["items"]) {
    const bool tuned_again = item["problem"]["m"] == 64;
    EXPECT_EQ(item["same_session"], !tuned_again) << item["problem"];
    EXPECT_EQ(item["reason"] == "the same session on both sides", !tuned_again) << item["reason"];
    EXPECT_EQ(item["change"].is_null(), !tuned_again);
  }
  EXPECT_TRUE(has(json["notes"].dump(), "2 of 3 items have the same session on both sides")) << json["notes"];
  Words strict = sides;
  strict.insert(strict.end(), {"--fail-on", "inconclusive"});
  EXPECT_EQ(run(strict).exit_code, 3);
  EXPECT_EQ(run({"compare", book().string(), book().string()}).exit_code, 2);
}

TEST_F(ReportVerb, CompareFindsTheRegression) {
  make_book(1.08);
  const Words sides = {"compare", book().string() + "#date=previous", book().string() + "#date=latest"};
  const auto with = [&](const Words& more) {
    Words words = sides;
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  };
  const std::string json_file = (folder() / "compare.json").string();
  const ProgramResult found = with({"--json=" + json_file, "--markdown", "-"});
  EXPECT_EQ(found.exit_code, 3) << found.err;
  const auto json = parse_one_line(read_file(json_file));
  EXPECT_EQ(json["kind"], "comparison");
  EXPECT_EQ(json["exit_code"], 3);
  ASSERT_EQ(json["items"].size(), 3u);
  EXPECT_EQ(json["items"][0]["verdict"], "regression");
  EXPECT_EQ(json["items"][0]["problem"]["m"], 128);
  // The last night is 0.1 % slower at each size, and this one 8 % more.
  EXPECT_NEAR(json["items"][0]["change"].get<double>(), 1.08 * 1.001 / 1.0 - 1, 1e-6);
  EXPECT_EQ(json["worst"], 0);
  EXPECT_TRUE(has(found.out, "**regression**")) << found.out;
  EXPECT_EQ(with({"--threshold", "20%"}).exit_code, 0);
  EXPECT_EQ(with({"--threshold", "matmul=20%"}).exit_code, 0);
  EXPECT_EQ(with({"--fail-on", "never"}).exit_code, 0);
  EXPECT_EQ(run({"compare", book().string() + "#date=latest", book().string() + "#date=previous"}).exit_code, 0);  // an improvement
  EXPECT_EQ(run({"compare", book().string(), book().string()}).exit_code, 2);
  EXPECT_EQ(with({"--fail-on", "regresion"}).exit_code, 2);
  EXPECT_EQ(with({"--allow-different", "drivers"}).exit_code, 2);
  const std::string text = with({}).out;
  EXPECT_TRUE(has(text, "regression")) << text;
  EXPECT_TRUE(has(text, "+8.")) << text;
}

}  // namespace
}  // namespace tunebook::test
