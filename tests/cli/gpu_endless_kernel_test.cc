#include <string>

#include "worker_watch.h"

namespace tunebook::test {
namespace {

TEST_F(EndlessKernel, DiesWithItsCoordinatorOnTheGpu) {
  const auto listing = run_json({"devices", "--json"});
  for (const auto& device : listing["devices"]) {
    if (device["id"] == "cuda:0" && device["usable"].get<bool>()) return expect_nothing_left("cuda:0");
  }
  GTEST_SKIP() << "no usable cuda:0";
}

}  // namespace
}  // namespace tunebook::test
