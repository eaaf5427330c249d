// Sweeps as their users run them: what runs in the first night and in the next ones, what a summary and an exit code say, and what becomes
// of a sweep whose surroundings fail.
#include <sys/mount.h>
#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "db/sqlite.h"
#include "db/store.h"
#include "sweep_fixture.h"

namespace tunebook::test {
namespace {

constexpr int kKernels = 2, kShapes = 3;
constexpr int kItems = kKernels * kShapes * 2;
constexpr std::uint64_t kSize = 40;

class Sweep : public SweepCliTest {
 protected:
  Sweep() {
    record("gpu_a", kKernels, kShapes, kSize);
    record("gpu_b", kKernels, kShapes, kSize);
  }
  std::filesystem::path replay_plan(const std::string& more = "") { return plan(kKernels, {"replay:gpu_a", "replay:gpu_b"}, more); }
  std::string beside_book(const std::string& ending) const {
    for (const auto& entry : std::filesystem::directory_iterator(folder())) {
      if (entry.path().filename().string().ends_with(ending)) return entry.path().string();
    }
    return "";
  }
};

TEST_F(Sweep, RunsEveryItemOnceAndSaysSo) {
  const auto file = replay_plan();
  const auto summary = run_json(sweep(file));
  EXPECT_EQ(summary["ended"], "complete");
  EXPECT_EQ(summary["exit_code"], 0);
  EXPECT_EQ(summary["items"]["all"], kItems);
  EXPECT_EQ(summary["items"]["done"], kItems);
  EXPECT_EQ(summary["devices"].size(), 2u);
  for (const auto& device : summary["devices"]) {
    EXPECT_EQ(device["sessions"], kItems / 2);
    EXPECT_GT(device["available_s"].get<double>(), 0);
    EXPECT_LE(device["busy_share"].get<double>(), 1);
  }
  for (const auto& result : summary["results"]) {
    EXPECT_EQ(result["status"], "done");
    EXPECT_GT(result["winner"]["median_us"].get<double>(), 0);
    EXPECT_TRUE(result["previous"].is_null());
  }
  EXPECT_EQ(count("SELECT count(*) FROM session WHERE finished_utc IS NOT NULL"), kItems);
  const auto on_disk = nlohmann::ordered_json::parse(read_file(beside_book(".summary.json")));
  EXPECT_EQ(on_disk, summary);
  const auto status = nlohmann::json::parse(read_file(beside_book(".status.json")));
  EXPECT_EQ(status["state"], "complete");
  EXPECT_EQ(status["items"]["done"], kItems);
  EXPECT_TRUE(all_gone());
}

TEST_F(Sweep, TheNextNightTimesTheWinnersAnewAndNothingElse) {
  const auto file = replay_plan();
  run_json(sweep(file));
  const auto second = run_json(sweep(file));
  EXPECT_EQ(second["items"]["done"], kItems);
  for (const auto& result : second["results"]) {
    EXPECT_EQ(result["action"], "retime");
    EXPECT_EQ(result["measured"], 1);  // recordings have no presets
    EXPECT_EQ(result["previous"]["median_us"], result["winner"]["median_us"]);
  }
  EXPECT_EQ(count("SELECT count(*) FROM session WHERE strategy = 'retime'"), kItems);
  // A winner in every night, for `compare` and trends.
  EXPECT_EQ(count("SELECT count(*) FROM winner"), 2 * kItems);
}

TEST_F(Sweep, FreshItemsAreLeftAlone) {
  const auto file = replay_plan(R"({"freshness": {"retime": "never", "retune_after_days": "never"}})");
  run_json(sweep(file));
  const auto second = run_json(sweep(file));
  EXPECT_EQ(second["items"]["fresh"], kItems);
  EXPECT_EQ(count("SELECT count(*) FROM session"), kItems);
}

// A recording has one time of each configuration: what it would vary by is not known, here as in `compare`.
TEST_F(Sweep, AChangedKernelAloneIsTunedAndASlowerWinnerIsTold) {
  const auto file = replay_plan(R"({"freshness": {"retime": "never", "retune_after_days": "never"}})");
  run_json(sweep(file));
  slow_down(recording("gpu_b", 1, 2), 1.5);
  const ProgramResult second = run(sweep(file));
  EXPECT_EQ(second.exit_code, 0) << second.err;
  const auto summary = parse_one_line(second.out);
  EXPECT_EQ(summary["items"]["fresh"], kItems - 1);
  EXPECT_EQ(summary["items"]["done"], 1);
  EXPECT_TRUE(summary["regressions"].empty());
  ASSERT_EQ(summary["inconclusive"].size(), 1u);
  EXPECT_GT(summary["inconclusive"][0]["change"].get<double>(), 0.02);
  EXPECT_NE(summary["inconclusive"][0]["item"].get<std::string>().find("gpu_b"), std::string::npos);
  EXPECT_EQ(summary["inconclusive"][0]["why"], "the kernel changed since it was tuned");
  EXPECT_EQ(summary["exit_code"], 0);
}

// The book is made to say that the winner was a thousand times faster in the night before.
TEST_F(Sweep, ASlowerWinnerIsExitCodeThreeHereAndInCompare) {
  const auto file = write("cpu.json", R"({"tunebook": 1, "devices": "cpu", "budget": 1, "finalists": 1, "finalist_processes": 3, "baseline": false,
      "sessions": [{"kernels": "vector_add", "shapes": ["1000"]}]})");
  const Words words = sweep(file, {"--templates", user_kernels()});
  run_json(words);
  {
    sqlite::Database database(book(), sqlite::Database::Mode::read_write);
    database.execute("DROP TRIGGER finalist_no_update; DROP TRIGGER winner_no_update");
    const std::vector<double> before = {0.001, 0.0011, 0.0012};
    sqlite::Statement(database, "UPDATE finalist SET process_medians_us = ?, median_us = 0.0011, ci_low_us = 0.001, ci_high_us = 0.0012")
        .execute(sqlite::Blob{std::string_view(reinterpret_cast<const char*>(before.data()), before.size() * sizeof(double))});
    database.execute("UPDATE winner SET median_us = 0.0011, ci_low_us = 0.001, ci_high_us = 0.0012");
    database.execute("UPDATE session SET started_utc = strftime('%Y-%m-%dT%H:%M:%S.000000Z', 'now', '-2 days'), "
                     "finished_utc = strftime('%Y-%m-%dT%H:%M:%S.500000Z', 'now', '-2 days')");
  }
  const ProgramResult second = run(words);
  EXPECT_EQ(second.exit_code, 3) << second.err;
  const auto summary = parse_one_line(second.out);
  EXPECT_EQ(summary["exit_code"], 3);
  EXPECT_EQ(summary["results"][0]["action"], "retime");
  ASSERT_EQ(summary["regressions"].size(), 1u) << summary["results"][0];
  EXPECT_GT(summary["regressions"][0]["change"].get<double>(), 1);
  EXPECT_EQ(summary["regressions"][0]["processes"], (nlohmann::ordered_json{3, 3}));
  const ProgramResult compared = run({"compare", "#date=previous", "#date=latest", "--json"});
  EXPECT_EQ(compared.exit_code, 3) << compared.err;
  const auto comparison = parse_one_line(compared.out);
  EXPECT_EQ(comparison["items"][0]["verdict"], "regression");
  EXPECT_DOUBLE_EQ(comparison["items"][0]["change"].get<double>(), summary["regressions"][0]["change"].get<double>());
}

TEST_F(Sweep, AnotherToolchainMeasuresEverythingAnew) {
  const auto file = replay_plan(R"({"freshness": {"retime": "never", "retune_after_days": "never"}})");
  run_json(sweep(file));
  {
    sqlite::Database database(book(), sqlite::Database::Mode::read_write);
    database.execute("UPDATE session SET toolchain = 'older ' || toolchain, identity_hash = randomblob(16)");
    database.execute("UPDATE trial SET key = randomblob(16)");
  }
  const auto second = run_json(sweep(file));
  EXPECT_EQ(second["items"]["done"], kItems);
  for (const auto& result : second["results"]) {
    EXPECT_EQ(result["action"], "tune");
    EXPECT_GE(result["measured"].get<int>(), 12);
    EXPECT_TRUE(result["previous"].is_object());  // what `compare` sets the new samples against
  }
}

TEST_F(Sweep, StopsOnCtrlCAndGoesOnWithTheSameCommand) {
  const auto file = replay_plan(R"({"budget": "all"})");
  RunningProgram program = start(sweep(file));
  while (beside_book(".status.json").empty()) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  program.send(SIGINT);
  const ProgramResult stopped = program.wait();
  EXPECT_EQ(stopped.exit_code, 1);
  const auto first = parse_one_line(stopped.out);
  EXPECT_EQ(first["ended"], "interrupted");
  EXPECT_NE(stopped.err.find("resume with: "), std::string::npos) << stopped.err;
  EXPECT_TRUE(all_gone());
  const ProgramResult ended = run(sweep(file));
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  const auto second = parse_one_line(ended.out);
  EXPECT_EQ(second["sweep"], first["sweep"]);
  EXPECT_EQ(second["runs"], 2);
  EXPECT_EQ(second["items"]["done"], kItems);
  EXPECT_NE(ended.err.find("going on with the sweep that began at"), std::string::npos) << ended.err;
}

TEST_F(Sweep, AChangedPlanBeginsANewSweepAndSaysSo) {
  const auto file = replay_plan(R"({"budget": "all"})");
  RunningProgram program = start(sweep(file));
  while (beside_book(".status.json").empty()) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  program.send(SIGINT);
  const auto first = parse_one_line(program.wait().out);
  EXPECT_EQ(first["ended"], "interrupted");
  replay_plan(R"({"budget": 5})");
  const ProgramResult ended = run(sweep(file));
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_NE(parse_one_line(ended.out)["sweep"], first["sweep"]);
  EXPECT_NE(ended.err.find("the plan has changed since the sweep that began at"), std::string::npos) << ended.err;
}

TEST_F(Sweep, TwoCommandsDoNotRunOneSweepAtOnce) {
  const auto file = replay_plan(R"({"budget": "all"})");
  RunningProgram first = start(sweep(file));
  while (beside_book(".status.json").empty()) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  first.send(SIGSTOP);
  const ProgramResult second = run(sweep(file));
  first.send(SIGCONT);
  EXPECT_EQ(second.exit_code, 2);
  EXPECT_NE(second.err.find("is being run in this book by process " + std::to_string(first.pid())), std::string::npos) << second.err;
  EXPECT_EQ(first.wait().exit_code, 0);
}

TEST_F(Sweep, ADeviceThatCannotBeUsedDoesNotStopTheOthers) {
  // A worker that cannot be started stands for a GPU that disappeared.
  std::filesystem::create_directory(folder() / "workers");
  set_environment("TUNEBOOK_WORKER_DIR", (folder() / "workers").string());
  const auto file = write("mixed.json", R"({"tunebook": 1, "budget": 5, "sessions": [
      {"kernels": "vector_add", "shapes": ["1000", "2000"], "devices": "cpu"}, {"kernels": "k0", "devices": "replay:gpu_a"}]})");
  const ProgramResult result = run(sweep(file, {"--templates", user_kernels()}));
  EXPECT_EQ(result.exit_code, 1) << result.err;
  const auto summary = parse_one_line(result.out);
  EXPECT_EQ(summary["items"]["done"], kShapes);
  EXPECT_EQ(summary["items"]["no_device"], 2);
  EXPECT_NE(result.err.find("cpu: it cannot be used any more; the rest of the plan goes on without it"), std::string::npos) << result.err;
  for (const auto& entry : summary["results"]) {
    if (entry["status"] != "no_device") continue;
    EXPECT_NE(entry["reason"].get<std::string>().find("cannot be used"), std::string::npos) << entry;
  }
}

TEST_F(Sweep, TimeThatDoesNotSufficeIsToldAndNoFailure) {
  const auto file = replay_plan(R"({"budget": "all"})");
  const auto summary = run_json(sweep(file, {"--time", "0.001s"}));
  EXPECT_EQ(summary["ended"], "deadline");
  EXPECT_EQ(summary["exit_code"], 0);
  EXPECT_EQ(summary["items"]["no_time"], kItems);
  // Ended by its deadline, it is another sweep the next time.
  const auto next = run_json(sweep(file));
  EXPECT_NE(next["sweep"], summary["sweep"]);
  EXPECT_EQ(next["items"]["done"], kItems);
}

// A session that was cut goes on in the next night. If its time is over before its reference is compiled, the finalists still need it: they come
// from the trials that the book holds.
TEST_F(Sweep, ASessionWhoseTimeIsOverAtOnceEndsWithWhatTheBookHolds) {
  const auto tune = [&](const std::string& limit) {
    return Words{"tune", "vector_add", "--shape", "1000", "--device", "cpu", "--budget", "all", "--finalists", "2", "--finalist-processes", "1", "--no-baseline",
                 "--compile-workers", "1", "--templates", user_kernels(), "--book", book().string(), "--time-limit", limit, "--json"};
  };
  // How long the first trials take depends on the machine: where nothing was tried, the same command goes on with more time.
  auto json = parse_one_line(run(tune("1.5")).out);
  for (int seconds = 2; json["measured"] == 0 && seconds <= 64; seconds *= 2) json = parse_one_line(run(tune(std::to_string(seconds))).out);
  ASSERT_GT(json["measured"], 0) << json.dump();
  if (!json["cut"].get<bool>()) GTEST_SKIP() << "the whole space was tried at once";
  json = run_json(tune("0.001"));
  EXPECT_TRUE(json["winner"].is_object());
  EXPECT_EQ(json["measured"], 0);
}

TEST_F(Sweep, AKilledSweepWhoseTimeIsOverRunsNothingInItsNight) {
  const auto file = replay_plan(R"({"budget": "all"})");
  RunningProgram program = start(sweep(file, {"--until", "00:00"}));
  while (beside_book(".state.json").empty() || beside_book(".status.json").empty()) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  program.send(SIGKILL);
  program.wait();
  ASSERT_TRUE(all_gone());
  // The night passes.
  const std::string state_file = beside_book(".state.json");
  auto state = nlohmann::ordered_json::parse(read_file(state_file));
  const double now = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  state["start"] = now - 7200;
  state["deadline"] = now - 3600;
  std::ofstream(state_file) << state.dump();
  const std::int64_t sessions = Store(book()).check().sessions;
  const ProgramResult late = run(sweep(file, {"--until", "00:00"}));
  EXPECT_EQ(late.exit_code, 1);
  EXPECT_NE(late.err.find("nothing was run"), std::string::npos) << late.err;
  EXPECT_EQ(Store(book()).check().sessions, sessions);

  const auto restarted = run_json(sweep(file, {"--until", "00:00", "--restart"}));
  EXPECT_EQ(restarted["items"]["done"], kItems);
}

TEST_F(Sweep, ADamagedStateCostsNothing) {
  const auto file = replay_plan();
  run_json(sweep(file));
  std::ofstream(beside_book(".state.json")) << "{\"half";
  const ProgramResult result = run(sweep(file));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.err.find("a new sweep begins"), std::string::npos) << result.err;
}

TEST_F(Sweep, OnFinishGetsTheSummary) {
  const auto file = replay_plan();
  const std::string copy = (folder() / "copy.json").string();
  const auto summary = run_json(sweep(file, {"--summary", (folder() / "s.json").string(), "--on-finish", "/bin/sh", "-c",
                                             "cp \"$1\" " + copy + " && echo $TUNEBOOK_EXIT_CODE >> " + copy + "; cmp \"$1\" \"$TUNEBOOK_SUMMARY\"", "--json"}));
  const std::string text = read_file(copy);
  ASSERT_TRUE(text.ends_with("\n0\n")) << text;
  EXPECT_EQ(nlohmann::ordered_json::parse(text.substr(0, text.size() - 3)), summary);
  const ProgramResult failing = run(sweep(file, {"--on-finish", "/bin/false"}));
  EXPECT_EQ(failing.exit_code, 1);
  EXPECT_NE(failing.err.find("--on-finish: /bin/false ended with exit code 1"), std::string::npos) << failing.err;
}

// Last night's summary must not be taken for this night's, neither while this night runs nor if it cannot write its own.
TEST_F(Sweep, AnOldSummaryIsGoneFromTheStartAndNeverHandedOn) {
  const auto file = replay_plan(R"({"budget": "all"})");
  const std::filesystem::path summary = folder() / "s.json";
  const std::string seen = (folder() / "seen").string();
  write("s.json", "last night's");
  RunningProgram program = start(sweep(file, {"--summary", summary.string(), "--on-finish", "/bin/sh", "-c",
                                              "echo \"$# $TUNEBOOK_EXIT_CODE <$TUNEBOOK_SUMMARY>\" > " + seen, "sh"}));
  while (beside_book(".status.json").empty()) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_FALSE(std::filesystem::exists(summary));
  // What stands in its place cannot be replaced by a file.
  std::filesystem::create_directories(summary / "in the way");
  const ProgramResult result = program.wait();
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_NE(result.err.find("the summary " + summary.string() + " cannot be written"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("the command of --on-finish gets no path"), std::string::npos) << result.err;
  EXPECT_EQ(read_file(seen), "0 1 <>\n");
  EXPECT_EQ(parse_one_line(result.out)["exit_code"], 1);
}

TEST_F(Sweep, FilesOfTheSweepReplaceNothingElse) {
  const auto file = replay_plan();
  const std::string text = read_file(file);
  const std::string pipe = (folder() / "pipe").string(), link = (folder() / "link").string(), wanted = (folder() / "wanted.json").string();
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::filesystem::create_symlink(pipe, link);
  for (const std::string option : {"--status", "--summary"}) {
    expect_bad_input(sweep(file, {option, pipe}), {option + " " + pipe + ": this is no regular file"});
    expect_bad_input(sweep(file, {option, link}), {option + " " + link + ": this is no regular file"});
    expect_bad_input(sweep(file, {option, file.string()}), {option + " " + file.string() + ": this sweep uses the file for something else"});
    expect_bad_input(sweep(file, {option, book().string()}), {option, "something else"});
    expect_bad_input(sweep(file, {option, (folder() / "none" / "s.json").string()}), {option, "there is no folder"});
  }
  expect_bad_input(sweep(file, {"--status", wanted, "--summary", wanted}), {"--status " + wanted, "something else"});
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  EXPECT_EQ(read_file(file), text);
  // What a link points at is replaced, and the link stays.
  write("wanted.json", "older");
  std::filesystem::remove(link);
  std::filesystem::create_symlink(wanted, link);
  const auto summary = run_json(sweep(file, {"--summary", link}));
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(nlohmann::ordered_json::parse(read_file(wanted)), summary);
}

TEST_F(Sweep, ACommandThatIsNotThereIsKnownBeforeTheNight) {
  const auto file = replay_plan();
  expect_bad_input(sweep(file, {"--on-finish", (folder() / "none").string(), "-v"}), {"--on-finish: found no command", "none"});
  expect_bad_input(sweep(file, {"--on-finish", "no-such-command"}), {"--on-finish: found no command \"no-such-command\""});
  expect_bad_input(sweep(file, {"--on-finish", folder().string()}), {"--on-finish: found no command"});
  expect_bad_input(sweep(file, {"--on-finish", ""}), {"--on-finish: found no command \"\""});
  EXPECT_EQ(run(sweep(file, {"--on-finish", "true"})).exit_code, 0);
}

TEST_F(Sweep, ACommandThatHangsIsStoppedWithTheSweep) {
  const std::filesystem::path begun = folder() / "begun";
  RunningProgram program = start(sweep(replay_plan(), {"--on-finish", "/bin/sh", "-c", ": > " + begun.string() + "; exec sleep 1000"}));
  while (!std::filesystem::exists(begun)) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  program.send(SIGTERM);
  const ProgramResult result = program.wait();
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_NE(result.err.find("--on-finish: /bin/sh ended with signal 15"), std::string::npos) << result.err;
}

TEST_F(Sweep, AFullDiskIsToldAndTheSweepGoesOnWhenThereIsRoom) {
  const std::filesystem::path disk = folder() / "disk";
  std::filesystem::create_directory(disk);
  if (::mount("tunebook", disk.c_str(), "tmpfs", 0, "size=1200k") != 0) GTEST_SKIP() << "no disk can be mounted: " << std::strerror(errno);
  const std::shared_ptr<void> unmount(nullptr, [&](void*) { ::umount2(disk.c_str(), MNT_DETACH); });
  record("gpu_c", 1, 3, 3000);
  const auto file = plan(1, {"replay:gpu_c"}, R"({"strategy": "exhaustive", "budget": "all"})");
  const Words words = sweep(file, {"--book", (disk / "book.db").string()});
  const ProgramResult full = run(words);
  EXPECT_EQ(full.exit_code, 1) << full.err;
  EXPECT_NE(full.err.find("the disk is full: make room"), std::string::npos) << full.err;
  const auto first = parse_one_line(full.out);
  EXPECT_EQ(first["ended"], "no_room");
  EXPECT_GT(first["items"]["no_room"].get<int>(), 0);
  ASSERT_EQ(::mount("tunebook", disk.c_str(), "tmpfs", MS_REMOUNT, "size=64m"), 0);
  EXPECT_TRUE(Store(disk / "book.db").check().problems.empty());
  const auto second = run_json(words);
  EXPECT_EQ(second["items"]["no_room"], 0);
  EXPECT_EQ(Store(disk / "book.db").check().sessions, 3);
  EXPECT_EQ(Store(disk / "book.db").check().trials, 3 * 3000);
}

}  // namespace
}  // namespace tunebook::test
