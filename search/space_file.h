#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/expression.h"
#include "search/space.h"

namespace tunebook {

// A search space written down without a kernel: {"parameters": {NAME: [VALUES]}, "constraints": [TEXT, ...]}; "name" is optional,
// other keys are ignored, so that the declaration of a recording is one too.
struct SpaceFile {
  std::string name;  // the file's stem if it gives none
  Names names;       // the parameters: what --where may use
  SpaceDefinition definition;
};

// Throws InputError "FILE: /json/path: ...".
SpaceFile load_space_file(const std::filesystem::path& path, const std::vector<std::string>& where = {});

// Parts of it, also used for recordings.
// "parameters": values are integers, bools or strings, other numbers become text ("0.5"); if they are not all of one kind, all
// become text.
std::vector<Parameter> parse_parameters(const nlohmann::ordered_json& json, const std::string& file);
// The texts under "constraints"; null or a missing key gives none.
std::optional<std::vector<std::string>> parse_constraint_texts(const nlohmann::ordered_json& json, const std::string& file);
// Names for the parameters and a scope over `names` in which `bound` is bound (a parameter of the same name hides it).
SpaceDefinition define_space(std::vector<Parameter> parameters, const std::vector<std::pair<std::string, Value>>& bound,
                             Names& names);

}  // namespace tunebook
