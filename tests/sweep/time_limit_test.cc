#include <cstdlib>
#include <ctime>
#include <string>

#include <gtest/gtest.h>

#include "core/error.h"
#include "sweep/plan.h"
#include "sweep_fixture.h"

namespace tunebook::testing {
namespace {

// The rules of Central European time, written out: no test depends on what zone files are installed.
class TimeZone {
 public:
  explicit TimeZone(const char* zone) {
    if (const char* old = std::getenv("TZ")) old_ = old;
    setenv("TZ", zone, 1);
    tzset();
  }
  ~TimeZone() {
    if (old_.empty()) unsetenv("TZ");
    else setenv("TZ", old_.c_str(), 1);
    tzset();
  }

 private:
  std::string old_;
};
constexpr const char* kCentralEurope = "CET-1CEST,M3.5.0,M10.5.0/3";

double utc(int year, int month, int day, int hour, int minute) {
  std::tm time{};
  time.tm_year = year - 1900;
  time.tm_mon = month - 1;
  time.tm_mday = day;
  time.tm_hour = hour;
  time.tm_min = minute;
  return static_cast<double>(timegm(&time));
}

TEST(TimeLimit, Durations) {
  EXPECT_EQ(TimeLimit::parse_time("8h", "--time").seconds, 8 * 3600.0);
  EXPECT_EQ(TimeLimit::parse_time("90m", "--time").seconds, 5400.0);
  EXPECT_EQ(TimeLimit::parse_time("30s", "--time").seconds, 30.0);
  EXPECT_EQ(TimeLimit::parse_time("1.5h", "--time").seconds, 5400.0);
  EXPECT_EQ(TimeLimit::parse_time("168h", "--time").seconds, 7 * kDay);
  EXPECT_EQ(TimeLimit::parse_time("7m30s", "--time").seconds, 450.0);
  EXPECT_EQ(TimeLimit::parse_time("1h0.5m2s", "--time").seconds, 3632.0);
  for (const char* bad : {"", "8", "h", "30s7m", "7m7m", "7m30", "m30s", "7m s", "0m0s", "0h", "-1h", "8 h", "8d", "1e3s", "nans", "infs", "169h", "8h8", "1.2.3h", "+8h"}) {
    EXPECT_THROW(TimeLimit::parse_time(bad, "--time"), InputError) << bad;
  }
  EXPECT_EQ(error_of([] { TimeLimit::parse_time("8d", "--time"); }), "--time: found \"8d\", expected a time such as 8h, 90m, 30s or 7m30s");
}

TEST(TimeLimit, TimesOfTheDay) {
  EXPECT_EQ(TimeLimit::parse_until("06:00", "--until").until_minute, 360);
  EXPECT_EQ(TimeLimit::parse_until("00:00", "--until").until_minute, 0);
  EXPECT_EQ(TimeLimit::parse_until("23:59", "--until").until_minute, 1439);
  for (const char* bad : {"", "6:00", "24:00", "06:60", "06.00", "0600", "06:00 ", "ab:cd", "-1:00", "06:0a"}) {
    EXPECT_THROW(TimeLimit::parse_until(bad, "--until"), InputError) << bad;
  }
}

TEST(TimeLimit, NextSuchTime) {
  const TimeZone zone(kCentralEurope);
  const TimeLimit six = TimeLimit::parse_until("06:00", "--until");
  EXPECT_EQ(six.deadline(utc(2026, 12, 1, 21, 0)), utc(2026, 12, 2, 5, 0));   // 22:00 CET -> 06:00 CET
  EXPECT_EQ(six.deadline(utc(2026, 12, 1, 4, 59)), utc(2026, 12, 1, 5, 0));
  EXPECT_EQ(six.deadline(utc(2026, 12, 1, 5, 0)), utc(2026, 12, 2, 5, 0));    // now is not the next
  EXPECT_EQ(six.deadline(utc(2026, 12, 31, 23, 30)), utc(2027, 1, 1, 5, 0));  // over the end of a year
}

TEST(TimeLimit, NightsInWhichTheClockChanges) {
  const TimeZone zone(kCentralEurope);
  const TimeLimit six = TimeLimit::parse_until("06:00", "--until");
  // 29 March 2026, 02:00 -> 03:00: from 22:00 to 06:00 are 7 hours. 25 October: 9 hours.
  EXPECT_EQ(six.deadline(utc(2026, 3, 28, 21, 0)), utc(2026, 3, 29, 4, 0));
  EXPECT_EQ(six.deadline(utc(2026, 10, 24, 20, 0)), utc(2026, 10, 25, 5, 0));
}

TEST(TimeLimit, EarlierOfBothCounts) {
  const TimeZone zone("UTC0");
  TimeLimit limit = TimeLimit::parse_until("06:00", "--until");
  limit.seconds = 3600;
  EXPECT_EQ(limit.deadline(utc(2026, 12, 1, 4, 0)), utc(2026, 12, 1, 5, 0));
  EXPECT_EQ(limit.deadline(utc(2026, 12, 1, 5, 30)), utc(2026, 12, 1, 6, 0));
  EXPECT_EQ(TimeLimit().deadline(kNow), std::nullopt);
  EXPECT_TRUE(TimeLimit().empty());
}

}  // namespace
}  // namespace tunebook::testing
