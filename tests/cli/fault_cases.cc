#include "fault_cases.h"

#include <vector>

#include "db/store.h"

namespace tunebook::test {

void FaultTest::expect_one_bad_trial(const std::string& kernel, const std::string& outcome, const std::string& message) {
  // Of the 21 configurations, those around the bad one.
  const auto tuned = run_json({"tune", kernel, "--templates", fault_kernels(), "--shape", "4096", "--device", device_, "--strategy", "exhaustive",
                               "--budget", "all", "--where", "BAD == 1 or BLOCK >= 256", "--run-timeout", "1", "--finalist-processes", "2", "--json"});
  EXPECT_EQ(tuned["trials"][outcome], 1) << tuned.dump();
  int all = 0;
  for (const auto& [name, count] : tuned["trials"].items()) {
    EXPECT_TRUE(name == "ok" || name == "abandoned" || name == outcome) << tuned.dump();
    all += count.get<int>();
  }
  EXPECT_EQ(all, 10);  // the preset outside --where, nine within
  ASSERT_TRUE(tuned["winner"].is_object()) << tuned.dump();
  EXPECT_EQ(tuned["winner"]["configuration"]["BAD"], 0);

  int bad = 0;
  for (const TrialRecord& trial : Store(book()).session_trials(tuned["session"])) {
    if (outcome_name(trial.outcome) != outcome) continue;
    ++bad;
    EXPECT_NE(trial.message.find(message), std::string::npos) << trial.message;
    EXPECT_NE(trial.configuration.display().find("BAD=1"), std::string::npos);
  }
  EXPECT_EQ(bad, 1);
  EXPECT_TRUE(all_gone());
}

}  // namespace tunebook::test
