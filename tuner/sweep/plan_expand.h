#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/spec_reader.h"
#include "sweep/kernel_catalog.h"
#include "sweep/plan.h"
#include "sweep/plan_settings.h"
#include "sweep/region_source.h"
#include "sweep/shape_source.h"

namespace tunebook {

// One entry of "sessions", read.
struct PlanEntry {
  std::string path;                        // JSON path: "/sessions/0"
  std::vector<std::string> kernels;
  bool default_shape = false;              // no "shapes": the template's default problem, every problem of a recording
  std::vector<WantedShape> shapes;
  std::optional<WantedRegion> cover;       // instead of shapes
  bool all_types = false;                  // "types": "all"
  std::vector<std::string> types;          // values of dtype; none: as the shapes say, else the kernel's default
  PlanSettings settings;
};

// Makes items of entries: kernels x shapes x types x devices, in this order.
class PlanExpander {
 public:
  // Items are added to `plan`, what is wrong is noted in `reader`. All must outlive this object.
  PlanExpander(SpecReader& reader, KernelCatalog& catalog, SweepPlan& plan) : reader_(reader), catalog_(catalog), plan_(plan) {}

  void add(const PlanEntry& entry);
  // After the last entry: tells what was passed over.
  void finish();

 private:
  void add_template(const PlanEntry& entry, const std::string& kernel, const std::vector<std::string>& devices);
  void add_regions(const PlanEntry& entry, const KernelSpec& spec,
                   const std::vector<std::string>& devices);
  void add_replay(const PlanEntry& entry, const std::string& kernel, const std::string& device);
  void add_recorded(const PlanEntry& entry, const KernelCatalog::Recorded& recorded);
  // The problems that a shape means for a kernel in the types asked for; none, and a note of the fault, if it fits not.
  std::vector<Problem> problems_of(const PlanEntry& entry, const KernelSpec& spec, const WantedShape& shape);
  bool knows_dimensions(const KernelSpec& spec, const WantedShape& shape);
  std::vector<std::string> types_of(const PlanEntry& entry, const KernelSpec& spec);
  void check_where(const PlanEntry& entry, const KernelSpec& spec, const Problem& problem);
  void check_settings(const PlanEntry& entry);
  void add_item(const PlanEntry& entry, const std::string& kernel, const Problem& problem, const std::string& device);
  void fault(const std::string& path, const std::string& message);
  void pass_over(const WantedShape& shape, const std::string& reason);

  SpecReader& reader_;
  KernelCatalog& catalog_;
  SweepPlan& plan_;
  std::set<std::string> seen_;      // ids
  std::set<std::string> faults_;    // each is told once
  std::size_t passed_over_ = 0;
  std::string first_passed_over_;
  std::set<std::string> wanted_;    // misses that an entry took
  std::set<std::string> unwanted_;  // kernels of misses that no entry took so far
  bool too_many_ = false;
};

}  // namespace tunebook
