#include "book_fixture.h"

#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <system_error>

namespace tunebook::testing {

const char* const kSpecText = R"json({
  "tunebook": 1,
  "kernel": "matmul",
  "summary": "c = a * b",
  "source": "kernel.cu", "entry": "matmul", "instantiate": ["T", "BM", "PAD"],
  "problem": {
    "m": {"default": 64, "verify": [1, 33]},
    "n": {"default": 64, "verify": [1, 65]},
    "k": {"default": 64, "verify": [1, 17]},
    "dtype": {"values": ["f32", "f16"], "default": "f32"}
  },
  "parameters": {
    "BM": {"values": [16, 32, 64], "help": "tile"},
    "PAD": {"values": [false, true], "help": "pad the tile"}
  },
  "constraints": ["m % BM == 0 or BM == 16", "BM * BM * 4 <= device.shared_bytes"],
  "presets": {"default": {"BM": 16, "PAD": false}, "big": {"BM": 64, "PAD": true}},
  "launch": {"block": ["BM", "4"], "grid": ["ceil_div(n, BM)", "ceil_div(m, BM)"], "shared_bytes": "BM * BM * 4"},
  "arguments": [
    {"name": "c", "type": "T*", "count": "m * n", "access": "out"},
    {"name": "a", "type": "T*", "count": "m * k", "access": "in", "fill": "uniform(-1, 1)"},
    {"name": "b", "type": "T*", "count": "k * n", "access": "in", "fill": "uniform(-1, 1)"},
    {"name": "m", "type": "i64", "value": "m"}
  ],
  "reference": {"source": "reference.cu", "entry": "matmul_reference", "block": ["256"], "grid": ["ceil_div(m * n, 256)"]},
  "tolerance": {"f32": {"rel": "0", "abs": "1"}, "f16": {"rel": "0", "abs": "1"}},
  "work": {"flops": "2 * m * n * k", "bytes": "(m * k + k * n + m * n) * sizeof(T)"}
})json";

Device some_gpu() {
  Device device;
  device.kind = "cuda";
  device.name = "NVIDIA H200";
  device.compute_capability = 90;
  device.sm_count = 132;
  device.memory_gib = 140;
  device.limits.shared_bytes_per_block_optin = 232448;
  return device;
}

Problem matmul_problem(std::int64_t m, std::int64_t n, std::int64_t k) {
  Problem problem;
  problem.set("m", m);
  problem.set("n", n);
  problem.set("k", k);
  problem.set("dtype", std::string("f32"));
  return problem;
}

Configuration tile(std::int64_t bm, bool pad) {
  Configuration configuration;
  configuration.set("BM", bm);
  configuration.set("PAD", pad);
  return configuration;
}

TrialContext some_context() {
  TrialContext context;
  context.kernel = "matmul";
  context.kernel_hash = "hash-1";
  context.kernel_spec = nlohmann::ordered_json::parse(kSpecText);
  context.device = some_gpu();
  context.toolchain = "nvrtc 13.0, driver 580.1, -O3";
  context.method = "cold/1";
  context.environment = {{"driver", "580.1"}, {"host", "here"}};
  return context;
}

SessionRecord some_session(std::uint64_t seed) {
  SessionRecord session;
  session.problem = matmul_problem(64, 64, 64);
  session.strategy = "random";
  session.seed = seed;
  session.budget = "60";
  session.where = {"BM <= 64", "PAD"};
  session.identity = {{"strategy", "random"}, {"seed", seed}, {"budget", "60"}};
  return session;
}

TrialRecord timed_trial(std::int64_t order, const Configuration& configuration, double median_us) {
  TrialRecord trial;
  trial.order = order;
  trial.origin = "strategy";
  trial.configuration = configuration;
  trial.resources.registers = 40;
  trial.resources.shared_static_bytes = 1024;
  trial.resources.shared_dynamic_bytes = 0;
  trial.median_us = median_us;
  trial.min_us = median_us - 0.5;
  trial.ci_low_us = median_us - 0.25;
  trial.ci_high_us = median_us + 0.25;
  trial.samples_us = {median_us, median_us - 0.5, median_us + 1};
  trial.launches_per_sample = 8;
  trial.verified_problems = 3;
  trial.verify_max_error = 0.125;
  trial.compile_seconds = 1.5;
  trial.verify_seconds = 0.25;
  trial.time_seconds = 0.5;
  return trial;
}

TrialRecord failed_trial(std::int64_t order, const Configuration& configuration, Outcome outcome) {
  TrialRecord trial;
  trial.order = order;
  trial.origin = "strategy";
  trial.configuration = configuration;
  trial.outcome = outcome;
  trial.message = "it failed";
  return trial;
}

WinnerRecord some_winner(const std::string& session, const Configuration& configuration, double median_us) {
  WinnerRecord winner;
  winner.session_id = session;
  winner.configuration = configuration;
  winner.median_us = median_us;
  winner.ci_low_us = median_us - 1;
  winner.ci_high_us = median_us + 1;
  winner.gflops = 1234.5;
  FinalistRecord finalist;
  finalist.configuration = configuration;
  finalist.process_medians_us = {median_us, median_us + 0.5, median_us - 0.5};
  finalist.median_us = median_us;
  finalist.ci_low_us = median_us - 1;
  finalist.ci_high_us = median_us + 1;
  finalist.in_tie_set = true;
  finalist.registers = 40;
  finalist.shared_bytes = 4096;
  winner.finalists.push_back(finalist);
  return winner;
}

std::string add_finished_session(Store& store, const TrialContext& context, const Problem& problem,
                                 const Configuration& configuration, double median_us, std::uint64_t seed) {
  SessionRecord proposed = some_session(seed);
  proposed.problem = problem;
  proposed.identity["problem"] = problem.display();
  const std::string session = store.open_session(context, proposed, true).id;
  store.record_trial(session, context, problem, timed_trial(0, configuration, median_us));
  store.record_winner(context, problem, some_winner(session, configuration, median_us));
  store.finish_session(session, 1.0);
  return session;
}

std::string run_sql(const std::filesystem::path& path, const std::string& sql) {
  sqlite3* database = nullptr;
  sqlite3_open(path.c_str(), &database);
  char* message = nullptr;
  sqlite3_exec(database, sql.c_str(), nullptr, nullptr, &message);
  const std::string error = message != nullptr ? message : "";
  sqlite3_free(message);
  sqlite3_close(database);
  return error;
}

std::string query_text(const std::filesystem::path& path, const std::string& sql) {
  sqlite3* database = nullptr;
  sqlite3_open(path.c_str(), &database);
  sqlite3_stmt* statement = nullptr;
  sqlite3_prepare_v2(database, sql.c_str(), -1, &statement, nullptr);
  std::string text;
  if (sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_text(statement, 0) != nullptr) {
    text = reinterpret_cast<const char*>(sqlite3_column_text(statement, 0));
  }
  sqlite3_finalize(statement);
  sqlite3_close(database);
  return text;
}

std::string as_other_user(const std::function<std::string()>& body) {
  constexpr unsigned kNobody = 65534;
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    if (geteuid() == 0 && (setgid(kNobody) != 0 || setuid(kNobody) != 0)) {
      _exit(1);
    }
    const std::string text = body();
    _exit(write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0 : 1);
  }
  close(ends[1]);
  std::string text;
  char buffer[512];
  for (ssize_t got = 0; (got = read(ends[0], buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<std::size_t>(got));
  }
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return text;
}

std::string file_bytes(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void BookTest::SetUp() {
  std::string pattern = (std::filesystem::temp_directory_path() / "tunebook-db-XXXXXX").string();
  ASSERT_NE(mkdtemp(pattern.data()), nullptr);
  folder_ = pattern;
}

void BookTest::TearDown() {
  std::error_code ignored;
  std::filesystem::permissions(folder_, std::filesystem::perms::owner_all, ignored);
  std::filesystem::remove_all(folder_, ignored);
}

}  // namespace tunebook::testing
