#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/problem.h"
#include "core/spec.h"
#include "core/spec_reader.h"
#include "sweep/cover_region.h"
#include "sweep/shape_source.h"

namespace tunebook {

// A region that a plan asks for, before it is known which kernel it is for.
struct WantedRegion {
  std::string path;  // JSON path of "cover"
  std::vector<std::pair<std::string, CoverDimension>> sizes;
  Problem categories;  // "ta": "t"
  std::string when;    // an expression over dimensions; "": every shape belongs to the region
  std::vector<WantedShape> weights;
  double target_loss = 0.03;
  std::size_t most_shapes = 0;
};

// Of an entry's "cover", "when", "weights", "target_loss" and "most_shapes". Empty if it has no
// "cover", or none that is an object with sizes; what is wrong is noted in `reader`, and what was passed over
// in `notes`.
std::optional<WantedRegion> read_region(SpecReader& reader, const SpecNode& entry,
                                        const std::string& folder, std::vector<std::string>& notes);

// The region of a kernel with the categories of `problem`. Weighted shapes outside it do not count.
// A fault is a message without a place: a size that is missing, a weighted shape that is none.
CoverRegion make_region(const WantedRegion& wanted, const KernelSpec& spec, const Problem& problem,
                        std::vector<std::string>& faults);

}  // namespace tunebook
