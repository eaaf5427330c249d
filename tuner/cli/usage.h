#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace tunebook::cli {

// The line for a command line that cannot be understood: what is wrong, the nearest verb or option, and which help to read.
// `app` is the whole program's, after parsing failed with `error`.
std::string usage_error(const CLI::App* app, const CLI::Error& error);

}  // namespace tunebook::cli
