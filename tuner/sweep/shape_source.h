#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/problem.h"
#include "core/spec_reader.h"

namespace tunebook {

// A shape that a plan asks for, before it is known which kernel it is for.
struct WantedShape {
  std::string text;         // as `--shape` takes it; else empty and ...
  Problem values;           // ... the dimensions that are given
  std::string path;         // JSON path in the plan
  std::string place;        // "FILE:LINE: " of a shape from a file; else ""
  // Of recorded misses: what was asked. Such a shape that fits no kernel is passed over: applications wrote it, not the plan's author.
  bool miss = false;
  std::string kernel, device_kind, objective;
};

// One element of "shapes": a text, an object of sizes, lists and ranges (their product), {"from_file": PATH}, {"from_misses": PATH}. What is
// wrong is noted in `reader`, and what was passed over in `notes`.
std::vector<WantedShape> read_shape_source(SpecReader& reader, const SpecNode& node, const std::string& folder, std::vector<std::string>& notes);

// The values of {"from", "to", "step" or "factor"}; both ends belong to it.
std::vector<std::int64_t> read_range(SpecReader& reader, const SpecNode& node);

// Lines "m,n,k", "m=..,n=.." or anything else that `--shape` takes; empty lines and what follows a # are passed over. Notes what is wrong
// with the file itself; the shapes are read when the kernel is known.
std::vector<WantedShape> read_shape_file(SpecReader& reader, const std::string& text, const std::string& file, const std::string& path);
// A MissLog's lines: each question once. A last line that was not written to its end is passed over.
std::vector<WantedShape> read_misses(SpecReader& reader, const std::string& text, const std::string& file, const std::string& path,
                                     std::vector<std::string>& notes);

}  // namespace tunebook
