// What `doctor` says of the models in a book: all of them, with the fault of each that lookups pass over.

#include "db/model_check.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "book_fixture.h"
#include "db/store.h"
#include "random_models.h"

namespace tunebook::testing {
namespace {

using ModelCheckTest = BookTest;

std::size_t sound(const std::vector<ModelCheck>& checks) {
  return static_cast<std::size_t>(
      std::count_if(checks.begin(), checks.end(), [](const ModelCheck& one) { return one.fault.empty(); }));
}

TEST_F(ModelCheckTest, EachRowIsReadAsALookupDoes) {
  {
    Store store(file());
    for (const char* const name : {"NVIDIA H200", "NVIDIA A100", "NVIDIA L40"}) {
      TrialContext context = some_context();
      context.device.name = name;
      add_finished_session(store, context, matmul_problem(64, 64, 64), tile(16), 10);
    }
  }
  EXPECT_TRUE(check_models(file()).empty());

  add_random_models(file(), 3);
  run_sql(file(), "DELETE FROM model WHERE length(body) < 100");  // some are cut short; these go
  const std::vector<ModelCheck> before = check_models(file());
  ASSERT_GE(before.size(), 3U);
  EXPECT_EQ(query_text(file(), "SELECT count(*) FROM model"), std::to_string(before.size()));

  // One byte of a sound one.
  const std::string first = query_text(file(), "SELECT id FROM model ORDER BY id LIMIT 1");
  ASSERT_EQ(before.front().fault, "");
  EXPECT_EQ(run_sql(file(), "UPDATE model SET body = CAST(substr(body, 1, length(body) - 1) || '~' AS BLOB) WHERE id = " + first), "");
  const std::vector<ModelCheck> after = check_models(file());
  EXPECT_EQ(sound(after), sound(before) - 1);
  EXPECT_NE(after.front().fault.find("model " + first), std::string::npos) << after.front().fault;
  EXPECT_NE(after.front().fault.find("tunebook learn"), std::string::npos) << after.front().fault;
  EXPECT_NE(after.front().what.find("matmul f"), std::string::npos) << after.front().what;

  // A device that this program cannot read.
  EXPECT_EQ(run_sql(file(), "UPDATE device SET json = '[]' WHERE id = (SELECT max(device_id) FROM model)"), "");
  const std::vector<ModelCheck> unreadable = check_models(file());
  EXPECT_EQ(unreadable.size(), before.size());
  EXPECT_TRUE(std::any_of(unreadable.begin(), unreadable.end(), [](const ModelCheck& one) {
    return one.fault.find("its device cannot be read") != std::string::npos;
  }));
}

TEST_F(ModelCheckTest, OldBooksHaveNone) {
  EXPECT_TRUE(check_models(TUNEBOOK_SOURCE_DIR "/tests/data/books/version_1.db").empty());
}

}  // namespace
}  // namespace tunebook::testing
