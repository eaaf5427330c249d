#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tunebook {

// SASS of a cubin, by nvdisasm or cuobjdump, whichever is found first in `folders` and then on $PATH. Nothing if neither is there or
// it fails (it says why on stderr).
std::optional<std::string> disassemble(const std::filesystem::path& cubin, const std::vector<std::filesystem::path>& folders);

}  // namespace tunebook
