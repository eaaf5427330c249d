#include "cli/emit_files.h"

#include <algorithm>
#include <fstream>
#include <system_error>

#include <fmt/format.h>

#include "core/error.h"
#include "core/launch_plan.h"

namespace tunebook::cli {

void write_emitted_file(const std::filesystem::path& path, const std::string& content) {
  std::ofstream file(path, std::ios::binary);
  file << content;
  file.close();
  if (!file) {
    throw EnvironmentError(fmt::format(
        "{}: cannot be written; is the disk full or the folder read-only?", path.string()));
  }
}

std::vector<std::string> write_emitted(const KernelTemplate& kernel, const Problem& problem,
                                       const Configuration& configuration,
                                       const CompileReply& reply,
                                       const std::filesystem::path& folder) {
  std::error_code error;
  std::vector<std::string> files;
  const auto add = [&](const std::string& name, const std::string& content) {
    write_emitted_file(folder / name, content);
    const std::string file = (folder / name).string();
    if (std::find(files.begin(), files.end(), file) == files.end()) files.push_back(file);
  };
  const Instantiation instantiation = instantiate(kernel.spec, problem, configuration);
  std::string source = fmt::format("// {}\n// {}\n// instantiated as: {}\n", problem.display(),
                                   configuration.display(), instantiation.name_expression);
  for (const KernelName& other : instantiation.others)
    source += fmt::format("// and: {}\n", other.expression);
  for (const auto& [name, value] : instantiation.defines)
    source += fmt::format("#define {} {}\n", name, value);
  add(kernel.kernel.file,
      source + fmt::format("#line 1 \"{}\"\n", kernel.kernel.file) + kernel.kernel.text);
  for (const auto& [name, text] : kernel.kernel.headers) {
    // Header names come from the template's own #include lines; only those that stay below the
    // folder are written.
    const std::filesystem::path path = std::filesystem::path(name).lexically_normal();
    if (path.is_absolute() || path.string().starts_with("..")) continue;
    std::filesystem::create_directories((folder / path).parent_path(), error);
    add(path.string(), text);
  }
  add("options.txt", reply.options + "\n");
  for (const auto& [name, content] : reply.emitted)
    add(std::filesystem::path(name).filename().string(), content);
  const std::filesystem::path artifact =
      folder / (kernel.spec.name + std::filesystem::path(reply.artifact).extension().string());
  std::filesystem::copy_file(reply.artifact, artifact,
                             std::filesystem::copy_options::overwrite_existing, error);
  if (error)
    throw EnvironmentError(
        fmt::format("{}: cannot be written: {}", artifact.string(), error.message()));
  files.push_back(artifact.string());
  std::string symbols = reply.symbol + "\n";
  for (const std::string& symbol : reply.other_symbols) symbols += symbol + "\n";
  add("symbol.txt", symbols);
  return files;
}

}  // namespace tunebook::cli
