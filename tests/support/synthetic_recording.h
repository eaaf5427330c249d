#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace tunebook::test {

// Writes FOLDER/NAME.json and FOLDER/NAME.csv, a made-up recording of exactly `size` (>= 1) configurations without constraints,
// and returns FOLDER/NAME. The same seed and size give the same bytes everywhere. Times have structure: each parameter and some
// pairs matter, some values are much worse, with a little noise. About 5 % fail (compile_error, launch_error, wrong_result), part
// of them together in a corner of the space; the fastest configuration is always `ok`.
std::filesystem::path write_synthetic_recording(const std::filesystem::path& folder, const std::string& name,
                                                std::uint64_t seed, std::uint64_t size);

}  // namespace tunebook::test
