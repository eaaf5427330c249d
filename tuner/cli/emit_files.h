#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/template_folder.h"
#include "worker/message.h"

namespace tunebook::cli {

// Writes the text, whole. Throws EnvironmentError if it cannot.
void write_emitted_file(const std::filesystem::path& path, const std::string& content);

// What one compiled configuration consists of, into a folder that is there: its source with all
// headers, options.txt, what the compiler emitted (PTX, SASS where there is a disassembler), the
// artifact KERNEL.cubin (on the cpu KERNEL.so) and symbol.txt. Returns the files' paths.
std::vector<std::string> write_emitted(const KernelTemplate& kernel, const Problem& problem,
                                       const Configuration& configuration,
                                       const CompileReply& reply,
                                       const std::filesystem::path& folder);

}  // namespace tunebook::cli
