#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "db/lookup_kernel.h"
#include "db/lookup_rows.h"
#include "db/prepared_model.h"
#include "db/sqlite.h"
#include "db/time_model.h"
#include "tunebook/lookup.h"

namespace tunebook {

struct Question;

// A row of the table `model`.
struct BookModel {
  std::int64_t row = -1;
  std::uint32_t version = 0;  // index into the kernel's versions
  std::string method;
  std::shared_ptr<const PreparedModel> prepared;  // null: it cannot be used,
  std::string damage;                             // for this reason
};
// The models of one kernel, device and dtype, as they were in the book at one moment.
using DeviceModels = std::vector<BookModel>;

// A book that is older than models has none. A row that is damaged is kept with what is wrong with
// it.
std::shared_ptr<const DeviceModels> read_models(sqlite::Database& book, std::int64_t book_version,
                                                const std::vector<KernelVersion>& versions,
                                                const KnownDevice& device,
                                                const std::string& dtype);

// The models of the question's kernel on a device; null: not at hand.
using ModelSource =
    std::function<const DeviceModels*(const KnownDevice& device, const std::string& dtype)>;

// What the model of time that counts for a question says: of the asked kernel hash if there is one,
// else of the newest version; of several the one that was learned last.
class Prediction {
 public:
  struct Damaged {
    const BookModel* model = nullptr;
    const KnownDevice* device = nullptr;
  };
  struct Found;
  static Found find(const Question& question, const ModelSource& source);

  // What answers lose at this distance from tuned problems.
  const TimeModel::LossBin& loss() const { return *loss_; }

  // The usable candidate that is expected to be the fastest; null: none is usable.
  std::optional<Answer> first() const;
  // Every candidate in the model's order, as an answer without expected loss, until `observer`
  // returns false.
  using Observer = std::function<bool(Answer candidate, const PreparedModel::Scored& scored)>;
  void each(const Observer& observer) const;
  // The answer for one candidate.
  Answer answer(const PreparedModel::Scored& scored) const;
  // Empty if the candidate can run; else the obstacle and why.
  std::pair<Obstacle, std::string> obstacle(std::size_t candidate) const;
  // The predicted share that is lost, from 0 to 0.999.
  static double predicted_loss(std::int64_t score);

 private:
  Prediction(const Question& question, const BookModel& model, const KnownDevice& device);
  void find_anchor();
  // How many times the anchor's work the asked problem is.
  double work_ratio() const;

  const Question* question_;
  const BookModel* model_;
  const KnownDevice* known_;
  const Problem* problem_;
  Device device_;  // the one that is asked for
  const TimeModel::Anchor* anchor_ = nullptr;
  double distance_ = 0;
  double scaled_us_ = 0;  // the anchor's best time for the asked problem's work
  const TimeModel::LossBin* loss_ = nullptr;
};

struct Prediction::Found {
  std::optional<Prediction> prediction;
  std::vector<Damaged> damaged;  // passed over, though they would have been asked
  bool complete = true;          // false: models that are needed were not at hand
};

}  // namespace tunebook
