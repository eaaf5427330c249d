#pragma once

#include <string>

namespace tunebook {

// A word of a command line, in quotes if the shell would read it otherwise.
std::string shell_word(const std::string& word);

}  // namespace tunebook
