#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/random.h"
#include "db/store.h"
#include "db/training.h"

namespace tunebook::testing {

// A kernel whose times are known: rows of n elements, m of them, in blocks of THREADS threads that
// take VEC elements at once. Nothing runs; time_us() is the truth that models are measured against.
struct SimulatedKernel {
  static KernelSpec spec();
  static Device device();
  static std::vector<Configuration> configurations();  // all that are declared
  static Problem problem(std::int64_t m, std::int64_t n, const std::string& dtype = "f32");
  static Problem random_problem(Random& random);  // one in three of odd n
  static bool valid(const Problem& problem, const Configuration& configuration);
  static double time_us(const Problem& problem, const Configuration& configuration);
  static double best_us(const Problem& problem);  // over all valid configurations
};

TrainingTrial simulated_trial(std::uint32_t problem, std::uint32_t configuration, double median_us);

// Each problem with `trials` valid configurations drawn at random, with relative noise of their
// times. Without noise the same as in a book.
TrainingGroup simulated_group(const std::vector<Problem>& problems, std::size_t trials,
                              Random& random, double noise = 0);

TrialContext simulated_context();
// The same as a working book: one finished session a problem.
void write_book(const TrainingGroup& group, const std::filesystem::path& path);

// A fresh folder, gone with this object.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::filesystem::path file(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

}  // namespace tunebook::testing
