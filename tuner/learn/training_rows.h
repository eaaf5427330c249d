#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "db/training.h"
#include "learn/tree_trainer.h"

namespace tunebook::learn {

// The trials of a group that can be learned from, as rows of numbers. The group must outlive it.
class TrainingRows {
 public:
  struct Row {
    std::uint32_t problem = 0, configuration = 0;  // indices into the group's
    bool ok = false;  // its time was measured to the end, and it was verified; else it takes at
                      // least so long
    double median_us = 0;
    float loss = 0;  // 1 - best time of the problem / median; in [0, 1)
  };
  struct AnchorPoint {
    std::uint32_t problem = 0;
    std::uint32_t winner = 0;  // configuration
    double best_us = 0;
    std::vector<std::int64_t> sizes;  // in declared order
    std::string categories;           // equal text: the same values of all categorical dimensions
  };

  explicit TrainingRows(const TrainingGroup& group);

  const TrainingGroup& group() const { return *group_; }
  const std::vector<Row>& rows() const {
    return rows_;
  }  // ascending by problem, then configuration
  const std::vector<AnchorPoint>& anchors() const {
    return anchors_;
  }  // problems with a verified time, ascending
  // Rows of an anchor: [first, last).
  std::pair<std::size_t, std::size_t> rows_of(std::size_t anchor) const {
    return {starts_[anchor], starts_[anchor + 1]};
  }
  // Configurations that an answer may give: verified once, never proved bad. Ascending.
  const std::vector<std::uint32_t>& usable() const { return usable_; }

  // The most that was recorded of a configuration; -1: not known.
  struct Resource {
    std::int64_t registers = -1, shared_bytes = -1;
  };
  const Resource& resource(std::uint32_t configuration) const { return resources_[configuration]; }

  // Features of the declaration, less those that are the same in all rows.
  const std::vector<std::string>& features() const { return features_; }
  const Matrix& matrix() const { return matrix_; }  // one row per row
  // Whether the configuration can be given for the problem on the group's device.
  bool valid(const Problem& problem, std::uint32_t configuration) const;

  // Features of any problem of the declaration, one configuration after another. The rows must
  // outlive it.
  class Features {
   public:
    Features(const TrainingRows& rows, const Problem& problem);
    // One value per column of matrix(), until the next call. The configuration is one of the
    // group's.
    const float* of(std::uint32_t configuration);

   private:
    const TrainingRows& rows_;
    KernelSpec::Scope scope_;
    std::vector<float> values_;
  };

 private:
  void collect_rows();
  void collect_features();

  const TrainingGroup* group_;
  std::vector<Row> rows_;
  std::vector<AnchorPoint> anchors_;
  std::vector<std::size_t> starts_;
  std::vector<std::uint32_t> usable_;
  std::vector<Resource> resources_;
  std::vector<std::string> features_;
  std::vector<Expression> expressions_;
  Matrix matrix_;
};

}  // namespace tunebook::learn
