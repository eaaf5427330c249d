#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "sweep/cover_choice.h"
#include "sweep/cover_region.h"
#include "sweep/item.h"

namespace tunebook {

// What the book knows of a region now; `questions` are those that least_predicted is for. It may
// learn a model of time, which takes a second or so.
using CoverSource = std::function<CoverKnowledge(const CoverRegion& region,
                                                 const std::vector<CoverQuestion>& questions)>;

// How far a region is.
struct RegionProgress {
  std::string region;         // CoverRegion::display()
  std::size_t questions = 0;  // that it is judged by
  double target_loss = 0;
  double before = 0, now = 0;  // its expected loss when the sweep began, and now; shares
  bool model = false;          // from a model of time; else by distances alone
  std::size_t tuned = 0;       // shapes that the sweep chose
  bool covered = false;        // the model expects less than the target
  friend bool operator==(const RegionProgress&, const RegionProgress&) = default;
};

struct CoverDecision {
  std::size_t region = 0;
  SweepItem item;
  std::string reason;
};

// Chooses which shapes of a plan's regions are tuned next. What it chooses depends on the plan, the
// book and what was tried, not on the time: a sweep that is taken up again goes on alike.
class CoverPlanner {
 public:
  CoverPlanner(std::vector<CoverRegion> regions, CoverSource source);

  // Asks the source anew, then chooses items: each time the shape of the region whose expected loss
  // times priority it lowers most. `count` items at most, or an eighth of what is tuned if that is
  // more: so much has to come to it before a new model says anything else. Items whose ids are in
  // `tried` are passed over.
  // Empty when every region is covered or has its most shapes, or nothing is left that helps.
  std::vector<CoverDecision> next(std::size_t count, const std::set<std::string>& tried);
  static constexpr std::size_t kShareChosen = 8;

  const std::vector<RegionProgress>& progress() const { return progress_; }
  // Of an earlier run of the same sweep: what its regions were like when it began.
  void take_up(const nlohmann::ordered_json& earlier);
  // What SweepState::regions keeps and the summary shows: a list of objects "region", "questions",
  // "target_loss", "before", "now", "model", "tuned", "covered".
  nlohmann::ordered_json to_json() const;

 private:
  std::vector<CoverRegion> regions_;
  std::vector<std::vector<CoverQuestion>> questions_;
  CoverSource source_;
  std::vector<RegionProgress> progress_;
  bool begun_ = false;
};

// For people, a line for each region of to_json(). Passes over what it cannot read.
std::string regions_text(const nlohmann::ordered_json& regions);

}  // namespace tunebook
