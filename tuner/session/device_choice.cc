#include <algorithm>

#include <fmt/format.h>

#include "core/error.h"
#include "session/device_choice.h"

namespace tunebook {

DeviceChoice DeviceChoice::parse(const std::string& text) {
  if (text.empty() || text == "auto") return {};
  if (text == "cpu") return {Kind::cpu, "0"};
  if (text == "cuda") return {Kind::cuda, "0"};
  if (text.starts_with("cuda:")) {
    const std::string index = text.substr(5);
    if (!index.empty() && index.size() <= 4 && std::all_of(index.begin(), index.end(), [](char c) { return c >= '0' && c <= '9'; })) {
      return {Kind::cuda, std::to_string(std::stoi(index))};
    }
  }
  if (text.starts_with("replay:") && text.size() > 7) return {Kind::replay, text.substr(7)};
  throw InputError(fmt::format("device '{}': expected cuda:N, cpu or replay:PATH; see: tunebook devices", text));
}

std::string DeviceChoice::text() const {
  switch (kind) {
    case Kind::cuda: return "cuda:" + argument;
    case Kind::cpu: return "cpu";
    case Kind::replay: return "replay:" + argument;
    case Kind::automatic: break;
  }
  return "auto";
}

}  // namespace tunebook
