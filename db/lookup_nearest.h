#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "db/lookup_rows.h"

namespace tunebook {

// The distance between two problems with the same categorical values: Euclidean, of log2 of the sizes. Each term is the log2 of the
// larger size over the smaller one, and terms are added from the smallest on, so that problems that are equally far (half and
// twice the size; m and n exchanged) have exactly the same distance.
double problem_distance(std::span<const std::int64_t> x, std::span<const std::int64_t> y);

// The product of the sizes, multiplied from the smallest on.
double problem_volume(std::span<const std::int64_t> sizes);

// Rows by distance from an asked problem, the nearest first; equally near: the smaller problem, then the order of its canonical text,
// then the latest finished session, then the smaller session id. All rows are looked through once; later only those that may come next.
class NearestFirst {
 public:
  struct Member {
    const DeviceRows* rows = nullptr;
    const DeviceRows::Group* group = nullptr;
    std::vector<std::int64_t> asked_sizes;  // in the order of the group's
  };
  struct Pick {
    double distance = 0;
    double volume = 0;
    const DeviceRows* rows = nullptr;
    std::uint32_t row = 0;
  };

  explicit NearestFirst(std::vector<Member> members);

  // The next one, or null if there is none left; pop() goes on.
  const Pick* peek();
  void pop() { ++taken_; }

 private:
  void fill();
  // The rows whose squares are above limit_ and up to `most`, the least first.
  std::vector<std::pair<double, std::size_t>> rows_up_to(double most) const;
  void pass(double limit);
  Pick refine(std::size_t position) const;

  std::vector<Member> members_;
  std::vector<std::size_t> starts_;  // of each member's rows in squares_
  std::unique_ptr<double[]> squares_;  // approximate squared distances; infinity where there is no row
  std::vector<double> block_least_;  // of each block of squares the least above limit_
  double limit_ = -1;                // squares up to here have been taken
  int batches_ = 0;
  std::vector<Pick> batch_;
  std::size_t taken_ = 0;
};

// True if x comes before y among rows of one distance and problem: the session that was finished later, then the smaller id.
bool newer_session(const DeviceRows& x_rows, std::uint32_t x, const DeviceRows& y_rows, std::uint32_t y);

}  // namespace tunebook
