#pragma once

#include <vector>

namespace tunebook {

// What an item asks of the time that is left.
struct TimeClaim {
  double seconds = 0;  // expected
  double worth = 0;    // expected gain times priority
};

// Divides `left_s` seconds among items, those most worth their time first. If there is enough, each has what it is expected to take and a
// quarter more, and the first one what is over. Else each in turn gets kLeastSessionSeconds (or all that it needs), or nothing (0) if not
// even that is left; and the rest goes by worth, to none more than it needs. Never more than `left_s` in sum.
std::vector<double> divide_time(double left_s, const std::vector<TimeClaim>& items);

// A session shorter than this spends its time on starting and on its finalists.
inline constexpr double kLeastSessionSeconds = 5;

}  // namespace tunebook
