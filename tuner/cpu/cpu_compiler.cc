#include "cpu/cpu_compiler.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"
#include "core/hash.h"
#include "core/json_text.h"
#include "cpu/asan_runtime.h"
#include "cpu/cpu_device.h"
#include "cpu/source_rewriter.h"
#include "worker/child_process.h"

namespace tunebook {
namespace {

namespace fs = std::filesystem;

// Part of every cache key: raise it whenever the rewriter or the options change what is compiled.
constexpr std::string_view kCodeVersion = "cpu-1";
// Kernels compiled with this option are looked at, not timed: they end with a fault where an access is not aligned to its type.
constexpr std::string_view kAlignmentOption = "-fsanitize=alignment";
constexpr std::size_t kMaxMessageBytes = 16384;
constexpr std::string_view kUnitFile = "tunebook_unit.cc";

constexpr std::string_view kFolderPrefix = "tunebook-cpu-";

// Folders of workers that were killed while compiling: theirs are named by process, so that the next worker can tidy up.
void remove_abandoned_folders() {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(fs::temp_directory_path(error), error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kFolderPrefix)) continue;
    const int owner = std::atoi(name.c_str() + kFolderPrefix.size());
    struct stat status {};
    const bool ours = ::lstat(entry.path().c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == ::geteuid();
    if (!ours || owner <= 0 || ::kill(owner, 0) == 0 || errno != ESRCH) continue;
    std::error_code ignored;
    fs::remove_all(entry.path(), ignored);
  }
}

// A private folder that goes with its owner.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (fs::temp_directory_path() / fmt::format("{}{}-XXXXXX", kFolderPrefix, ::getpid())).string();
    if (::mkdtemp(pattern.data()) == nullptr)
      throw EnvironmentError(fmt::format("cannot make a folder {}: {}", pattern, std::strerror(errno)));
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code error;
    fs::remove_all(path_, error);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

void write_file(const fs::path& path, std::string_view text) {
  fs::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  if (!file) throw EnvironmentError(fmt::format("cannot write {}; is the disk full?", path.string()));
}

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

// Source files in a folder deep enough that `#include "../x.h"` stays within the temporary folder.
struct WrittenSource {
  fs::path folder;
  std::vector<PtxUse> ptx_uses;
  std::vector<std::pair<std::string, std::string>> rewritten;  // file name -> text
};

// Throws InputError for a file name that leads out of the temporary folder.
WrittenSource write_source(const SourceText& source, const fs::path& root) {
  WrittenSource written;
  written.folder = root / "s" / "s" / "s" / "s";
  std::vector<std::pair<std::string, std::string>> files = {{source.file, source.text}};
  files.insert(files.end(), source.headers.begin(), source.headers.end());
  int number = 0;
  for (const auto& [name, text] : files) {
    const fs::path path = (written.folder / name).lexically_normal();
    const fs::path relative = path.lexically_relative(root);
    if (fs::path(name).is_absolute() || relative.empty() || *relative.begin() == "..")
      throw InputError(fmt::format("{}: included by a path that the cpu device does not support", name));
    RewrittenSource rewritten = rewrite_cuda_source(text, name, number++);
    const std::string content = fmt::format("#line 1 \"{}\"\n{}\n", name, rewritten.text);
    write_file(path, content);
    written.ptx_uses.insert(written.ptx_uses.end(), rewritten.ptx_uses.begin(), rewritten.ptx_uses.end());
    written.rewritten.emplace_back(name, std::move(rewritten.text));
  }
  return written;
}

bool mentions(const SourceText& source, std::string_view word) {
  if (source.text.find(word) != std::string::npos) return true;
  return std::any_of(source.headers.begin(), source.headers.end(),
                     [&](const auto& header) { return header.second.find(word) != std::string::npos; });
}

std::string other_symbol(std::size_t i) { return fmt::format("{}_{}", kCpuEntrySymbol, i + 1); }

// The unit that is compiled. Device headers come before the kernel's macros, which could be called anything (T, N).
std::string unit_text(const CompileRequest& request) {
  std::string unit = "#include \"tunebook_cpu.h\"\n";
  const std::vector<std::string>& options = request.instantiation.options;
  if (std::find(options.begin(), options.end(), kAlignmentOption) != options.end()) unit += "#include \"tunebook_cpu/alignment.h\"\n";
  for (const char* header : {"cuda_fp16.h", "cuda_bf16.h"}) {
    if (mentions(request.source, header)) unit += fmt::format("#include \"{}\"\n", header);
  }
  for (const auto& [name, value] : request.instantiation.defines) unit += fmt::format("#define {} {}\n", name, one_line(value));
  unit += fmt::format("#include \"{}\"\n", request.source.file);
  const auto add_entry = [&unit](const KernelName& name, const std::string& symbol) {
    unit += fmt::format(
        "#line 1 \"instantiation of {}\"\n"
        "extern \"C\" __attribute__((visibility(\"default\"))) void {}(void** arguments) {{ ::tunebook_cpu::invoke(&{}, arguments); }}\n",
        name.entry, symbol, one_line(name.expression));
  };
  add_entry({request.instantiation.entry, request.instantiation.name_expression}, kCpuEntrySymbol);
  const std::vector<KernelName>& others = request.instantiation.others;
  for (std::size_t i = 0; i < others.size(); ++i) add_entry(others[i], other_symbol(i));
  return unit;
}

// A load stays where the source has it, in front of the check that it should come behind.
std::vector<std::string> alignment_options(bool is_clang) {
  if (is_clang) return {std::string(kAlignmentOption), "-O1", "-mllvm", "-instcombine-code-sinking=false"};
  return {std::string(kAlignmentOption), "-O1", "-fno-tree-sink"};
}

// Of a kernel's compile options those that mean something here: macros, the language standard and the sanitizers.
std::vector<std::string> kernel_options(const std::vector<std::string>& options, bool is_clang) {
  std::vector<std::string> kept;
  std::string standard = "c++20";  // as for the cuda device
  for (const std::string& option : options) {
    const std::string_view text = option;
    if (text.starts_with("-D") || text.starts_with("-U")) kept.push_back(option);
    // With names of variables and lines in its reports.
    if (text == kAsanOption) kept.insert(kept.end(), {option, "-g1", "-fno-omit-frame-pointer"});
    if (text == kAlignmentOption) {
      for (std::string& further : alignment_options(is_clang)) kept.push_back(std::move(further));
    }
    for (const std::string_view prefix : {std::string_view("--std="), std::string_view("-std=")}) {
      if (text.starts_with(prefix)) standard = text.substr(prefix.size());
    }
  }
  kept.push_back("-std=" + standard);
  return kept;
}

std::string joined(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + word;
  return line;
}

// Without the temporary folder's path and without the lines that only say how the kernel was included.
std::string clean_message(const std::string& output, const WrittenSource& source, const fs::path& root) {
  std::string text;
  std::size_t start = 0;
  while (start < output.size()) {
    const std::size_t end = std::min(output.find('\n', start), output.size());
    std::string line = output.substr(start, end - start);
    start = end + 1;
    if (line.starts_with("In file included from") && line.find(kUnitFile) != std::string::npos) continue;
    for (const std::string& prefix : {source.folder.string() + "/", root.string() + "/"}) {
      for (std::size_t at; (at = line.find(prefix)) != std::string::npos;) line.erase(at, prefix.size());
    }
    text += line + '\n';
  }
  while (!text.empty() && text.back() == '\n') text.pop_back();
  if (text.size() > kMaxMessageBytes) text.resize(kMaxMessageBytes);
  return text;
}

// Compiler drivers outlive the process that compiles, and report its end in words.
bool says_that_it_crashed(std::string_view message) {
  for (const std::string_view words : {"PLEASE submit a bug report", "Stack dump:", "internal compiler error"}) {
    if (message.find(words) != std::string_view::npos) return true;
  }
  return false;
}

// What the compiler said, and how it ended if that was not an ordinary error.
std::string failure_message(const ChildResult& result, std::string message, const std::string& compiler) {
  if (result.exit_code == 1 && !says_that_it_crashed(message)) return message;
  std::string how;
  if (result.signal == SIGKILL) {
    how = fmt::format("the compiler ({}) was killed by signal 9 (out of memory?)", compiler);
  } else if (result.exit_code < 0) {
    how = fmt::format("the compiler ({}) crashed: signal {} ({})", compiler, result.signal, ::strsignal(result.signal));
  } else if (says_that_it_crashed(message)) {
    how = fmt::format("the compiler ({}) crashed (exit code {})", compiler, result.exit_code);
  } else {
    how = fmt::format("the compiler ({}) failed with exit code {}", compiler, result.exit_code);
  }
  if (message.empty()) return how;
  message.resize(std::min(message.size(), kMaxMessageBytes - how.size() - 1));
  return how + "\n" + message;
}

// Code that survived to the linked kernel and needs PTX: one line per place.
std::string ptx_message(const std::string& object, const std::vector<PtxUse>& uses) {
  std::string message;
  for (const PtxUse& use : uses) {
    if (object.find(use.marker) == std::string::npos) continue;
    message += fmt::format("{}{}:{}: uses PTX (inline asm); the cpu device cannot run it", message.empty() ? "" : "\n",
                           use.file, use.line);
  }
  return message;
}

std::string hash_of_folder(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  HashBuilder hash;
  for (const fs::path& file : files) hash.add(file.lexically_relative(folder).string()).add(read_text_file(file));
  return hash.hex();
}

}  // namespace

CpuCompiler::CpuCompiler() {
  remove_abandoned_folders();
  try {
    compiler_ = find_host_compiler();
    headers_ = device_header_folder();
    headers_hash_ = hash_of_folder(headers_);
    cache_ = std::make_unique<ArtifactCache>("cpu", "so");
  } catch (const std::exception& problem) {
    error_ = problem.what();
  }
}

Hello CpuCompiler::hello() {
  Hello hello;
  hello.role = WorkerRole::compiler;
  hello.native_arch = "cpu";
  hello.error = error_;
  if (error_.empty()) {
    hello.device = describe_cpu_device(compiler_);
    hello.toolchain = compiler_.identity;
    hello.environment = {{"host_compiler_path", compiler_.path}};
  }
  return hello;
}

std::string CpuCompiler::cache_key(const CompileRequest& request) const {
  HashBuilder hash;
  hash.add(kCodeVersion).add(compiler_.fingerprint).add(headers_hash_).add(joined(compiler_.options()));
  hash.add(request.source.file).add(request.source.text);
  for (const auto& [name, text] : request.source.headers) hash.add(name).add(text);
  hash.add(request.instantiation.entry).add(request.instantiation.name_expression);
  for (const KernelName& other : request.instantiation.others) hash.add("kernel").add(other.entry).add(other.expression);
  for (const auto& [name, value] : request.instantiation.defines) hash.add(name).add(value);
  hash.add(joined(kernel_options(request.instantiation.options, compiler_.is_clang)));
  return hash.hex();
}

CompileReply CpuCompiler::compile(const CompileRequest& request) {
  const auto started = std::chrono::steady_clock::now();
  CompileReply reply;
  reply.id = request.id;
  reply.symbol = kCpuEntrySymbol;
  for (std::size_t i = 0; i < request.instantiation.others.size(); ++i) reply.other_symbols.push_back(other_symbol(i));
  const std::vector<std::string> own = kernel_options(request.instantiation.options, compiler_.is_clang);
  std::vector<std::string> options = compiler_.options();
  options.insert(options.end(), own.begin(), own.end());
  reply.options = joined(options);

  const std::string key = cache_key(request);
  if (!request.emit) {
    if (const auto entry = cache_->lookup(key)) {
      reply.artifact = entry->artifact.string();
      reply.resources = Resources::from_json(entry->metadata.at("resources"));
      reply.cached = true;
      return reply;
    }
  }

  const auto fail = [&](std::string message) {
    reply.outcome = Outcome::compile_error;
    reply.message = std::move(message);
    reply.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    return reply;
  };
  const TemporaryFolder temporary;
  WrittenSource source;
  try {
    source = write_source(request.source, temporary.path());
  } catch (const InputError& problem) {
    return fail(problem.what());
  }
  const fs::path unit = temporary.path() / kUnitFile;
  const fs::path object = temporary.path() / "kernel.so";
  const std::string generated = unit_text(request);
  write_file(unit, generated);

  std::vector<std::string> command = {compiler_.path};
  command.insert(command.end(), options.begin(), options.end());
  for (const fs::path& folder : {source.folder, headers_}) command.push_back("-I" + folder.string());
  command.insert(command.end(), {unit.string(), "-o", object.string()});
  const ChildResult result = run_child(command, {"LC_ALL=C", "TMPDIR=" + temporary.path().string()});
  const std::string said = clean_message(result.output, source, temporary.path());
  if (result.exit_code != 0) return fail(failure_message(result, said, compiler_.identity));
  const std::string bytes = read_text_file(object);
  if (const std::string ptx = ptx_message(bytes, source.ptx_uses); !ptx.empty()) return fail(ptx);

  reply.message = said;
  reply.resources.code_bytes = static_cast<std::int64_t>(bytes.size());
  reply.artifact = cache_->publish(key, bytes, {{"resources", reply.resources.to_json()}}).string();
  if (request.emit) {
    reply.emitted = source.rewritten;
    reply.emitted.emplace_back(std::string(kUnitFile), generated);
    command.back() = (temporary.path() / "kernel.s").string();
    command.push_back("-S");
    std::erase_if(command, [](const std::string& word) { return word == "-shared" || word.starts_with("-Wl,"); });
    if (run_child(command, {"LC_ALL=C"}).exit_code == 0)
      reply.emitted.emplace_back("kernel.s", read_text_file(temporary.path() / "kernel.s"));
  }
  reply.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  return reply;
}

}  // namespace tunebook
