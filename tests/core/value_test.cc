#include "core/value.h"

#include <cstdint>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/scalar.h"

namespace tunebook {
namespace {

constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

TEST(Value, ReadsCommandLineText) {
  EXPECT_EQ(parse_value("64"), Value(std::int64_t{64}));
  EXPECT_EQ(parse_value("-3"), Value(std::int64_t{-3}));
  EXPECT_EQ(parse_value("true"), Value(true));
  EXPECT_EQ(parse_value("false"), Value(false));
  EXPECT_EQ(parse_value("9223372036854775807"), Value(kMax));
  for (const char* text : {"f32", "", "64x", "1.5", "True", " 1", "9223372036854775808"}) {
    EXPECT_EQ(parse_value(text), Value(std::string(text)));
  }
}

TEST(Value, TextAndJsonGoThereAndBack) {
  for (const Value& value : {Value(kMin), Value(std::int64_t{0}), Value(kMax), Value(true), Value(false), Value(std::string("f32"))}) {
    EXPECT_EQ(parse_value(to_text(value)), value);
    EXPECT_EQ(value_from_json(to_json_value(value), "x"), value);
    EXPECT_EQ(value_from_json(nlohmann::json::parse(to_json_value(value).dump()), "x"), value);
  }
}

TEST(Value, RefusesOtherJson) {
  for (const char* text : {"1.5", "64.0", "null", "[1]", "{}", "9223372036854775808", "18446744073709551615"}) {
    try {
      value_from_json(nlohmann::json::parse(text), "/parameters/BLOCK/values/2");
      FAIL() << text;
    } catch (const InputError& error) {
      const std::string message = error.what();
      EXPECT_EQ(message.find("/parameters/BLOCK/values/2: "), 0U) << message;
      EXPECT_NE(message.find(text), std::string::npos) << message;
    }
  }
}

TEST(Scalar, ComesFromValues) {
  EXPECT_EQ(Scalar::from(Value(std::int64_t{-5})), Scalar::integer(-5));
  EXPECT_EQ(Scalar::from(Value(true)), Scalar::boolean(true));
  EXPECT_EQ(Scalar::from(Value(std::string("f16"))), Scalar::text("f16"));
  EXPECT_EQ(Scalar::from(Value(true)).kind, Scalar::Kind::boolean);
}

TEST(Scalar, ComparesByValue) {
  EXPECT_EQ(Scalar::integer(1), Scalar::boolean(true));
  EXPECT_EQ(Scalar::integer(2), Scalar::real(2.0));
  EXPECT_FALSE(Scalar::integer(2) == Scalar::integer(3));
  EXPECT_FALSE(Scalar::integer(0) == Scalar::text("0"));
  EXPECT_FALSE(Scalar::integer(0) == Scalar{});
  EXPECT_FALSE(Scalar::text("a") == Scalar::text("b"));
  EXPECT_EQ(Scalar{}, Scalar{});
}

TEST(Scalar, WidensToReal) {
  Scalar half = Scalar::integer(1);
  half.kind = Scalar::Kind::rational;
  half.b = 2;
  EXPECT_EQ(half.as_real(), 0.5);
  EXPECT_EQ(Scalar::boolean(true).as_real(), 1.0);
  EXPECT_EQ(Scalar::real(2.5).as_real(), 2.5);
  EXPECT_EQ(Scalar::text("7").as_real(), 0.0);
}

TEST(Scalar, InternsTextsFromSeveralThreads) {
  std::vector<std::vector<const std::string*>> seen(4);
  {
    std::vector<std::jthread> threads;
    for (auto& mine : seen) {
      threads.emplace_back([&mine] {
        for (int i = 0; i < 200; ++i) mine.push_back(Scalar::text("interned " + std::to_string(i)).s);
      });
    }
  }
  for (const auto& theirs : seen) EXPECT_EQ(theirs, seen.front());
  EXPECT_EQ(*seen.front()[17], "interned 17");
}

}  // namespace
}  // namespace tunebook
