// What is constant disappears; what is left reads the dimensions alone.

#include "portfolio/cpp_condition.h"

#include <string>

#include <gtest/gtest.h>

#include "book_fixture.h"
#include "core/error.h"

namespace tunebook {
namespace {

class CppConditionTest : public ::testing::Test {
 protected:
  CppConditionTest() {
    nlohmann::ordered_json json = nlohmann::ordered_json::parse(testing::kSpecText);
    json["problem"]["ta"] = {{"values", {"n", "t"}}, {"default", "n"}};
    spec_ = KernelSpec::parse(json, "kernel.json");
    scope_ = spec_.scope(spec_.default_problem(), testing::some_gpu());
    spec_.bind(scope_, testing::tile(32, true));
  }
  std::string written(const std::string& text) const {
    const CppCondition condition = cpp_condition(text, spec_, scope_);
    return condition.constant ? *condition.constant ? "true" : "false" : condition.code;
  }

  KernelSpec spec_;
  KernelSpec::Scope scope_;
};

TEST_F(CppConditionTest, ConstantsDisappear) {
  EXPECT_EQ(written("BM == 32"), "true");
  EXPECT_EQ(written("BM == 16 or m % BM == 0"), "((m % 32) == 0)");
  EXPECT_EQ(written("BM == 32 or m // 0 == 0"), "true");
  EXPECT_EQ(written("BM == 16 and m > 1"), "false");
  EXPECT_EQ(written("dtype == 'f16' and m > 1"), "false");
  EXPECT_EQ(written("sizeof(T) * m <= device.shared_bytes"), "((4 * m) <= 232448)");
  EXPECT_EQ(written("(m > 1) if PAD else (m > 2)"), "(m > 1)");
  EXPECT_EQ(written("m > 1 ? PAD : not PAD"), "choose((m > 1), 1, 0)");
  EXPECT_EQ(written("BM / 3 * 3 == BM"), "true");
  EXPECT_EQ(written("1 // (BM - 32) == 1"), "false") << "an error makes a condition false";
  EXPECT_EQ(written("-7 // 2 == -4 and n >= -5"), "(n >= (-5))");
}

TEST_F(CppConditionTest, OperatorsOfSizes) {
  EXPECT_EQ(written("16 <= BM <= max(m, 16) < 1000"),
            "((32 <= greatest(m, 16)) && (greatest(m, 16) < 1000))");
  EXPECT_EQ(written("m in [1, 2, BM]"), "(((m == 1) || (m == 2)) || (m == 32))");
  EXPECT_EQ(written("m not in [1]"), "(!(m == 1))");
  EXPECT_EQ(written("ta == 'n' or m % 8 == 0"),
            "(number(ta == std::string_view(\"n\", 1)) || ((m % 8) == 0))");
  EXPECT_EQ(written("ta != 3"), "true");
  EXPECT_EQ(written("ceil_div(m, BM) * ceil_div(n, 2 * BM) > 264"),
            "((ceil_div(m, 32) * ceil_div(n, 64)) > 264)");
  EXPECT_EQ(written("not m - n // 2 < 0"), "(!((m - floor_div(n, 2)) < 0))");
  EXPECT_EQ(written("is_pow2(m) and log2(m) >= 4"), "(is_power_of_two(m) && (log2_of(m) >= 4))");
}

TEST_F(CppConditionTest, WhatCannotBeWrittenIsRefused) {
  EXPECT_NE(testing::error_of([&] {
              written("m / 3 == 2");
            }).find("\"m / 3 == 2\" needs a division into fractions"),
            std::string::npos);
  EXPECT_THROW(written("m > BM / 3"), InputError);
  EXPECT_EQ(written("m + 'f' > 1"), "false");
}

TEST_F(CppConditionTest, Names) {
  EXPECT_EQ(cpp_name("m"), "m");
  EXPECT_EQ(cpp_name("register"), "register_");
  EXPECT_EQ(cpp_name("number"), "number_");
  EXPECT_EQ(cpp_literal("a\"b\\\n?"), "\"a\\042b\\134\\012\\077\"");
}

}  // namespace
}  // namespace tunebook
