#include "cpu/fiber.h"

#include <memory>
#include <vector>

#include <gtest/gtest.h>

namespace tunebook {
namespace {

struct Counter {
  Fiber* main = nullptr;
  std::vector<std::unique_ptr<Fiber>> fibers;
  std::vector<int> order;
};

struct Start {
  Counter* counter;
  int number;
};

void count_forever(void* argument) {
  const Start start = *static_cast<Start*>(argument);
  for (int step = 0;; ++step) {
    start.counter->order.push_back(start.number * 100 + step);
    Fiber::switch_to(*start.counter->fibers[static_cast<std::size_t>(start.number)], *start.counter->main);
  }
}

TEST(Fiber, EachKeepsItsStackAndRestartForgetsIt) {
  Fiber main;
  Counter counter;
  counter.main = &main;
  Start starts[] = {{&counter, 0}, {&counter, 1}};
  for (unsigned i = 0; i < 2; ++i) counter.fibers.push_back(std::make_unique<Fiber>(65536, i, &count_forever, &starts[i]));
  for (int i = 0; i < 3; ++i) {
    Fiber::switch_to(main, *counter.fibers[0]);
    Fiber::switch_to(main, *counter.fibers[1]);
  }
  counter.fibers[0]->restart();
  Fiber::switch_to(main, *counter.fibers[0]);
  EXPECT_EQ(counter.order, (std::vector<int>{0, 100, 1, 101, 2, 102, 0}));
}

}  // namespace
}  // namespace tunebook
