#include "session/event_loop.h"

#include <csignal>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace tunebook {
namespace {

TEST(EventLoop, RunEndsWhenNothingIsLeft) {
  EventLoop loop;
  loop.run();
  int calls = 0;
  loop.post([&] {
    ++calls;
    loop.post([&] { ++calls; });
  });
  loop.run();
  EXPECT_EQ(calls, 2);
}

TEST(EventLoop, TimersFireInOrderAndRepeat) {
  EventLoop loop;
  std::vector<int> order;
  Timer late(loop, [&] { order.push_back(2); });
  Timer soon(loop, [&] { order.push_back(1); });
  late.start(0.02);
  soon.start(0.001);
  EXPECT_GT(late.remaining_s(), 0.0);
  loop.run();
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
  EXPECT_FALSE(late.active());

  int ticks = 0;
  std::unique_ptr<Timer> regular;
  regular = std::make_unique<Timer>(loop, [&] {
    if (++ticks == 3) regular.reset();  // within its own callback
  });
  regular->start(0.001, 0.001);
  loop.run();
  EXPECT_EQ(ticks, 3);
}

TEST(EventLoop, RunUntilHonoursPredicateTimeoutAndStop) {
  EventLoop loop;
  int ticks = 0;
  Timer regular(loop, [&] { ++ticks; });
  regular.start(0.001, 0.001);
  EXPECT_TRUE(loop.run_until([&] { return ticks >= 3; }));
  EXPECT_FALSE(loop.run_until([] { return false; }, 0.01));
  loop.post([&] { loop.stop(); });
  EXPECT_FALSE(loop.run_until([] { return false; }));
}

TEST(EventLoop, PostWakesItFromAnotherThread) {
  EventLoop loop;
  Timer keep(loop, [] {});
  keep.start(60);
  bool called = false;
  std::thread other([&] { loop.post([&] { called = true; }); });
  EXPECT_TRUE(loop.run_until([&] { return called; }, 10));
  other.join();
}

TEST(EventLoop, AnExceptionInACallbackIsThrownByRun) {
  EventLoop loop;
  loop.post([] { throw std::runtime_error("posted"); });
  EXPECT_THROW(loop.run(), std::runtime_error);
  Timer timer(loop, [] { throw std::runtime_error("timer"); });
  timer.start(0);
  EXPECT_THROW(loop.run_until([] { return false; }, 10), std::runtime_error);
  loop.run();  // and it goes on
}

}  // namespace
}  // namespace tunebook
