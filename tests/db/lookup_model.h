#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "db/time_model.h"
#include "tunebook/lookup.h"

namespace tunebook::testing {

// The lookup as its rules say it, slow and plain, for the kernel of kModelSpec only; written apart from the library to compare with.
extern const char* const kModelSpec;

// One winner in a book.
struct ModelWinner {
  std::int64_t x = 1, y = 1;      // sizes
  std::string mode = "a";         // categorical: "a", "b"
  std::int64_t tile = 16;         // parameters
  bool wide = false;
  DeviceKey device;               // with limits
  std::string hash;               // "hash-1", ...
  std::string objective = "time";
  std::string method = "cold/2";
  std::string session;
  std::string finished;           // empty: not finished
  std::int64_t registers = -1, shared_bytes = -1;
  std::int64_t order = 0;         // later ones of the same session replace earlier ones of the same objective
};

// A model of time in a book, of a kernel version, device and method; the values of its features are computed here again.
struct ModelOfTime {
  std::string hash;
  DeviceKey device;                    // with limits
  TimeModel time;                      // features: texts of kModelFeatures
};
extern const std::vector<const char*> kModelFeatures;

struct ModelBook {
  std::vector<std::string> hashes;     // the oldest first
  std::vector<DeviceKey> devices;      // the oldest first
  std::vector<ModelWinner> winners;
  std::vector<ModelOfTime> times;      // in the order of learning
};

struct ModelAnswer {
  Tier tier = Tier::exact;
  double distance = 0;
  std::string session;                 // empty for default
  std::int64_t tile = 0;
  bool wide = false;
  Stale stale = Stale::unknown;
  std::optional<double> expected_loss, loss_bound, predicted_us;
  std::string learned;                 // of predicted
};
std::optional<ModelAnswer> model_best(const ModelBook& book, const Query& query, double near_cap);

}  // namespace tunebook::testing
