#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/spec_reader.h"
#include "sweep/item.h"

namespace tunebook {

// A session's settings as a plan has them, with the devices that it shall run on.
struct PlanSettings {
  SessionSettings session;
  std::vector<std::string> devices;  // "cuda", "cuda:0", "cpu", "replay:PATH" with an absolute path; none: not said
};

// The settings under `node`, those that it does not have from `inherited`. What is wrong is noted in `reader`. `folder`: what the paths of
// recordings are relative to.
PlanSettings read_plan_settings(SpecReader& reader, const SpecNode& node, const PlanSettings& inherited, const std::string& folder);

// A text, or a list of different ones: `"cpu"` is `["cpu"]`. Empty lists are noted as wrong.
std::vector<std::string> read_text_or_texts(SpecReader& reader, const SpecNode& node, const char* expected);

// A path as a plan has it, absolute and without "." and "..".
std::string plan_path(const std::string& text, const std::string& folder);

}  // namespace tunebook
