#include "db/training.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "core/error.h"
#include "db/publish.h"
#include "db/sqlite.h"
#include "simulated_kernel.h"

namespace tunebook::testing {
namespace {

void run_sql(const std::filesystem::path& path, const std::string& sql) {
  sqlite::Database book(path, sqlite::Database::Mode::read_write);
  book.execute(sql.c_str());
}

// Two problems, three configurations each.
TrainingGroup small_group() {
  Random random(1);
  TrainingGroup group = simulated_group(
      {SimulatedKernel::problem(64, 64), SimulatedKernel::problem(64, 128)}, 1, random);
  group.trials.clear();
  for (const std::uint32_t problem : {0U, 1U}) {
    for (const std::uint32_t configuration : {0U, 1U, 2U})
      group.trials.push_back(simulated_trial(problem, configuration, 10 + configuration));
  }
  return group;
}

TEST(Training, GivesBackWhatWasRecorded) {
  const Folder folder;
  Random random(7);
  TrainingGroup group =
      simulated_group({SimulatedKernel::problem(1000, 4096), SimulatedKernel::problem(7, 77),
                       SimulatedKernel::problem(64, 64)},
                      30, random);
  group.trials[3].outcome = Outcome::abandoned;
  group.trials[4].outcome = Outcome::compile_error;
  group.trials[4].median_us = 0;
  group.trials[5].outcome = Outcome::wrong_result;
  group.trials[5].median_us = 0;
  write_book(group, folder.file("book.db"));
  const TrainingBook read = read_training(folder.file("book.db"));
  ASSERT_EQ(read.groups.size(), 1U);
  EXPECT_TRUE(read.unreadable.empty());
  const TrainingGroup& found = read.groups[0];
  EXPECT_EQ(found.name, "rows");
  EXPECT_EQ(found.kernel_hash, "hash-1");
  EXPECT_EQ(found.dtype, "f32");
  EXPECT_EQ(found.method, "cold/2");
  EXPECT_EQ(found.left_out, 0);
  EXPECT_EQ(found.device.key(), group.device.key());
  ASSERT_EQ(found.problems.size(), 3U);
  ASSERT_EQ(found.trials.size(), group.trials.size());
  for (std::size_t i = 0; i < found.trials.size(); ++i) {
    const TrainingTrial &x = found.trials[i], &y = group.trials[i];
    EXPECT_EQ(found.problems[x.problem], group.problems[y.problem]);
    EXPECT_EQ(found.configurations[x.configuration], group.configurations[y.configuration]);
    EXPECT_EQ(x.outcome, y.outcome);
    EXPECT_EQ(x.median_us, y.median_us);
    EXPECT_EQ(x.registers, 32);
    EXPECT_EQ(x.shared_bytes, 0);
    EXPECT_TRUE(x.verified);
    EXPECT_EQ(found.proved_bad[x.configuration], y.configuration == group.trials[5].configuration);
  }
}

TEST(Training, TheNewestMeasurementCountsAndACopyNever) {
  const Folder folder;
  const TrainingGroup group = small_group();
  write_book(group, folder.file("book.db"));
  const auto median = [&] {
    return read_training(folder.file("book.db")).groups.at(0).trials.at(1).median_us;
  };
  const std::string copy =
      "INSERT INTO trial (key, session_id, configuration_id, environment_id, proposal, origin, "
      "reused, outcome, message, "
      "registers, verified_problems, median_us, samples_us, launches_per_sample, recorded_utc) "
      "SELECT key, session_id, "
      "configuration_id, environment_id, proposal, origin, {}, outcome, message, registers, "
      "verified_problems, {}, "
      "samples_us, launches_per_sample, '{}' FROM trial WHERE id = 2";
  const auto add = [&](int reused, double time, const char* when) {
    std::string sql = copy;
    for (const std::string& by : {std::to_string(reused), std::to_string(time), std::string(when)})
      sql.replace(sql.find("{}"), 2, by);
    run_sql(folder.file("book.db"), sql);
  };
  EXPECT_EQ(median(), 11);
  add(0, 12.5, "2099-01-01T00:00:00.000000Z");
  EXPECT_EQ(median(), 12.5);
  add(0, 13.5, "2001-01-01T00:00:00.000000Z");
  EXPECT_EQ(median(), 12.5) << "an older one that was merged in later";
  add(1, 14.5, "2100-01-01T00:00:00.000000Z");
  EXPECT_EQ(median(), 12.5) << "a copy is no measurement";
}

TEST(Training, FinalistsMediansCountAndTheirSanitizersVerdicts) {
  const Folder folder;
  const TrainingGroup group = small_group();
  write_book(group, folder.file("book.db"));
  run_sql(folder.file("book.db"),
          "INSERT INTO finalist (winner_id, place, configuration_id, process_medians_us, "
          "median_us, ci_low_us, ci_high_us, in_tie_set, "
          "sanitizer) VALUES (1, 0, 1, x'', 9.5, 9, 10, 1, 'clean'), (1, 1, 2, x'', 9.75, 9, 10, "
          "1, 'memcheck: out of bounds')");
  const TrainingGroup found = read_training(folder.file("book.db")).groups.at(0);
  EXPECT_EQ(found.trials[0].median_us, 9.5);
  EXPECT_EQ(found.trials[1].median_us, 9.75);
  EXPECT_EQ(found.trials[2].median_us, 12);
  EXPECT_FALSE(found.proved_bad[0]);
  EXPECT_TRUE(found.proved_bad[1]);
}

TEST(Training, OddRowsAreLeftOutAndCounted) {
  const Folder folder;
  write_book(small_group(), folder.file("book.db"));
  run_sql(folder.file("book.db"), "UPDATE trial SET median_us = NULL WHERE id = 1");
  run_sql(folder.file("book.db"), "UPDATE trial SET median_us = 0 WHERE id = 2");
  run_sql(folder.file("book.db"), "UPDATE trial SET median_us = 9e999 WHERE id = 3");
  run_sql(folder.file("book.db"), "UPDATE configuration SET json = '{\"THREADS\":7}' WHERE id = 2");
  const TrainingGroup found = read_training(folder.file("book.db")).groups.at(0);
  // Of the first problem none is left; of the second one lost its configuration with the first's.
  EXPECT_EQ(found.trials.size(), 2U);
  EXPECT_EQ(found.left_out, 4);
}

TEST(Training, AnUnreadableDeclarationIsNamed) {
  const Folder folder;
  write_book(small_group(), folder.file("book.db"));
  run_sql(folder.file("book.db"), "UPDATE kernel SET spec = '{}'");
  const TrainingBook read = read_training(folder.file("book.db"));
  EXPECT_TRUE(read.groups.empty());
  ASSERT_EQ(read.unreadable.size(), 1U);
  EXPECT_EQ(read.unreadable[0].name, "rows");
  EXPECT_FALSE(read.unreadable[0].reason.empty());
}

TEST(Training, OtherKernelsAreNotReadAndPublishedBooksHaveNoTrials) {
  const Folder folder;
  write_book(small_group(), folder.file("book.db"));
  EXPECT_TRUE(read_training(folder.file("book.db"), {"matmul"}).groups.empty());
  EXPECT_EQ(read_training(folder.file("book.db"), {"rows"}).groups.size(), 1U);
  publish_book(folder.file("book.db"), folder.file("published.db"));
  EXPECT_TRUE(read_training(folder.file("published.db")).groups.empty());
  EXPECT_THROW(read_training(folder.file("none.db")), InputError);
}

TEST(Training, BooksOfOldVersionsAreRead) {
  for (const char* const name : {"version_1.db", "version_3.db"}) {
    const TrainingBook read =
        read_training(std::filesystem::path(TUNEBOOK_SOURCE_DIR) / "tests/data/books" / name);
    std::size_t timed = 0;
    for (const TrainingGroup& group : read.groups) {
      for (const TrainingTrial& trial : group.trials) timed += trial.median_us > 0 ? 1 : 0;
    }
    EXPECT_GT(timed, 0U) << name;
  }
}

}  // namespace
}  // namespace tunebook::testing
