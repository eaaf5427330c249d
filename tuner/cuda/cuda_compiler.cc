#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"
#include "core/hash.h"
#include "cuda/builtin_headers.h"
#include "cuda/cuda_backend.h"
#include "cuda/disassembler.h"
#include "cuda/nvrtc_library.h"
#include "cuda/ptxas_report.h"
#include "worker/artifact_cache.h"

namespace tunebook {
namespace fs = std::filesystem;
namespace {

// Part of every cache key: raise it when the meaning of an entry or of a built-in header changes.
constexpr const char* kCacheFormat = "cubin/1";

// One program from source to cubin. Owns NVRTC's handle.
class NvrtcProgram {
 public:
  NvrtcProgram(const NvrtcLibrary& nvrtc, const SourceText& source) : nvrtc_(nvrtc) {
    std::vector<const char*> names, texts;
    const auto add = [&](const std::pair<std::string, std::string>& header) {
      names.push_back(header.first.c_str());
      texts.push_back(header.second.c_str());
    };
    for (const auto& header : source.headers) add(header);
    for (const auto& header : builtin_headers()) add(header);
    const nvrtcResult result = nvrtc_.create_program(&program_, source.text.c_str(), source.file.c_str(),
                                                     static_cast<int>(names.size()), texts.data(), names.data());
    if (result != NVRTC_SUCCESS) throw EnvironmentError(fmt::format("nvrtcCreateProgram: {}", nvrtc_.error_string(result)));
  }
  ~NvrtcProgram() { nvrtc_.destroy_program(&program_); }
  NvrtcProgram(const NvrtcProgram&) = delete;
  NvrtcProgram& operator=(const NvrtcProgram&) = delete;

  bool compile(const Instantiation& instantiation, const std::vector<std::string>& options) {
    std::vector<const char*> pointers;
    for (const std::string& option : options) pointers.push_back(option.c_str());
    nvrtc_.add_name_expression(program_, instantiation.name_expression.c_str());
    for (const KernelName& other : instantiation.others) nvrtc_.add_name_expression(program_, other.expression.c_str());
    result_ = nvrtc_.compile_program(program_, static_cast<int>(pointers.size()), pointers.data());
    return result_ == NVRTC_SUCCESS;
  }

  std::string log() const {
    std::string text = fetch(nvrtc_.log_size, nvrtc_.log);
    while (!text.empty() && text.back() == '\0') text.pop_back();
    if (text.empty() && result_ != NVRTC_SUCCESS) text = nvrtc_.error_string(result_);
    return text;
  }
  std::optional<std::string> lowered_name(const std::string& name_expression) const {
    const char* name = nullptr;
    if (nvrtc_.lowered_name(program_, name_expression.c_str(), &name) != NVRTC_SUCCESS || name == nullptr) return std::nullopt;
    return std::string(name);
  }
  std::string cubin() const { return fetch(nvrtc_.cubin_size, nvrtc_.cubin); }
  std::string ptx() const {
    std::string text = fetch(nvrtc_.ptx_size, nvrtc_.ptx);
    while (!text.empty() && text.back() == '\0') text.pop_back();
    return text;
  }

 private:
  template <typename Size, typename Get>
  std::string fetch(Size size, Get get) const {
    std::size_t bytes = 0;
    if (size(program_, &bytes) != NVRTC_SUCCESS || bytes == 0) return {};
    std::string content(bytes, '\0');
    if (get(program_, content.data()) != NVRTC_SUCCESS) return {};
    return content;
  }

  const NvrtcLibrary& nvrtc_;
  nvrtcProgram program_ = nullptr;
  nvrtcResult result_ = NVRTC_SUCCESS;
};

// A folder for NVRTC's precompiled headers (some megabytes each), which a process can use only itself. NVRTC removes them at its end;
// what a killed worker left is removed by the next one on this host.
class PrecompiledHeaders {
 public:
  PrecompiledHeaders() {
    const fs::path root = ArtifactCache::root();
    if (root.empty()) return;
    char host[256] = "";
    ::gethostname(host, sizeof host - 1);
    const std::string prefix = fmt::format("{}-", host);
    std::error_code error;
    for (fs::directory_iterator it(root / "pch", error), end; !error && it != end; it.increment(error)) {
      const std::string name = it->path().filename().string();
      pid_t owner = 0;
      if (!name.starts_with(prefix)) continue;
      const auto parsed = std::from_chars(name.data() + prefix.size(), name.data() + name.size(), owner);
      if (parsed.ec == std::errc{} && owner > 0 && ::kill(owner, 0) != 0 && errno == ESRCH) {
        std::error_code ignored;  // another worker may be at it too
        fs::remove_all(it->path(), ignored);
      }
    }
    static std::atomic<int> count{0};
    const fs::path folder = root / "pch" / fmt::format("{}{}-{}", prefix, ::getpid(), count++);
    ::mkdir((root / "pch").c_str(), 0700);
    if (::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST) path_ = folder;
  }
  ~PrecompiledHeaders() {
    if (path_.empty()) return;
    std::error_code ignored;  // the next worker tries again
    fs::remove_all(path_, ignored);
  }
  PrecompiledHeaders(const PrecompiledHeaders&) = delete;
  PrecompiledHeaders& operator=(const PrecompiledHeaders&) = delete;
  // Empty if there is no such folder: then none are used.
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// Where a precompiled header pays: 530 -> 125 ms a compile with cooperative_groups.h. With cuda_fp16.h it is 27 -> 24 ms, and
// what the front end saves goes into mapping the file.
bool includes_heavy_headers(const SourceText& source) {
  const auto heavy = [](const std::string& text) {
    for (const char* header : {"<cooperative_groups", "<cuda/", "<cub/", "<thrust/"}) {
      if (text.find(header) != std::string::npos) return true;
    }
    return false;
  };
  return heavy(source.text) || std::any_of(source.headers.begin(), source.headers.end(), [&](const auto& header) { return heavy(header.second); });
}

bool starts_with_any(const std::vector<std::string>& options, const std::vector<std::string>& beginnings) {
  for (const std::string& option : options) {
    for (const std::string& beginning : beginnings) {
      if (option.starts_with(beginning)) return true;
    }
  }
  return false;
}

std::string join(const std::vector<std::string>& options) {
  std::string line;
  for (const std::string& option : options) {
    if (!line.empty()) line += ' ';
    line += option.find(' ') == std::string::npos ? option : fmt::format("'{}'", option);
  }
  return line;
}

// As `-no-cache`, for versions without the option; only this process, which has no other use of the driver's cache. Once: the
// compiler of a second thread is made while NVRTC reads the environment in the first.
void disable_driver_cache() {
  static const bool done = ::setenv("CUDA_CACHE_DISABLE", "1", 1) == 0;
  static_cast<void>(done);
}

class CudaCompiler : public CompilerBackend {
 public:
  // `own_process`: the environment may be changed.
  explicit CudaCompiler(bool own_process) {
    try {
      if (own_process) disable_driver_cache();
      nvrtc_ = std::make_unique<NvrtcLibrary>();
      for (const auto& folder : nvrtc_->include_folders()) include_options_.push_back("-I" + folder.string());
      identity_ = nvrtc_->identity();
      has_no_cache_ = nvrtc_->version().starts_with("13.") || nvrtc_->version().starts_with("14.");
      cache_ = std::make_unique<ArtifactCache>("cubin", "cubin");
      headers_.emplace();
    } catch (const EnvironmentError& error) {
      error_ = error.what();
    }
  }

  Hello hello() override {
    Hello hello;
    hello.role = WorkerRole::compiler;
    hello.environment = nlohmann::json::object();
    hello.error = error_;
    if (nvrtc_) {
      hello.toolchain = "nvrtc " + nvrtc_->version();
      hello.environment["nvrtc"] = identity_;
    }
    return hello;
  }

  CompileReply compile(const CompileRequest& request) override {
    if (!error_.empty()) throw EnvironmentError(error_);
    const auto start = std::chrono::steady_clock::now();
    const std::vector<std::string> options = output_options(request);
    const std::string key = cache_key(request, options);
    CompileReply reply;
    reply.id = request.id;
    reply.options = join(options);
    if (!request.emit && answer_from_cache(key, reply)) return reply;
    compile_fresh(request, options, key, reply);
    reply.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return reply;
  }

 private:
  // Everything that may change the cubin. The options that only change how long a compile takes or what is reported are
  // added later and are not part of the record.
  std::vector<std::string> output_options(const CompileRequest& request) const {
    std::vector<std::string> options = {"--gpu-architecture=" + request.arch};
    const std::vector<std::string>& given = request.instantiation.options;
    if (!starts_with_any(given, {"-std=", "--std="})) options.emplace_back("-std=c++20");
    for (const auto& [name, value] : request.instantiation.defines) options.push_back(fmt::format("-D{}={}", name, value));
    options.insert(options.end(), given.begin(), given.end());
    options.insert(options.end(), include_options_.begin(), include_options_.end());
    return options;
  }

  std::string cache_key(const CompileRequest& request, const std::vector<std::string>& options) const {
    HashBuilder hash;
    hash.add(kCacheFormat).add(identity_).add(request.source.file).add(request.source.text);
    hash.add(request.instantiation.entry).add(request.instantiation.name_expression);
    for (const KernelName& other : request.instantiation.others) hash.add("kernel").add(other.entry).add(other.expression);
    for (const std::string& option : options) hash.add(option);
    hash.add("headers");
    for (const auto& [name, text] : request.source.headers) hash.add(name).add(text);
    return hash.hex();
  }

  bool answer_from_cache(const std::string& key, CompileReply& reply) const {
    const auto entry = cache_->lookup(key);
    if (!entry) return false;
    try {
      reply.symbol = entry->metadata.at("symbol").get<std::string>();
      reply.other_symbols = entry->metadata.value("other_symbols", std::vector<std::string>());
      reply.message = entry->metadata.at("log").get<std::string>();
      reply.resources = Resources::from_json(entry->metadata.at("resources"));
    } catch (const std::exception&) {
      return false;  // damaged: compile again
    }
    reply.artifact = entry->artifact.string();
    reply.cached = true;
    return true;
  }

  // `-minimal` (no textures, no run-time API in device code) saves 2 ms of 20; a process that met a kernel that needs more stops
  // trying it. `-pch` keeps the parsed headers for the next compile with the same options (macros are options). Neither
  // changes the cubin, so they are not recorded.
  void compile_fresh(const CompileRequest& request, const std::vector<std::string>& options, const std::string& key,
                     CompileReply& reply) {
    std::vector<std::string> reporting = options;
    // Where a driver is installed, NVRTC takes equal PTX from a cache of its own, and ptxas then reports no resources.
    if (has_no_cache_) reporting.emplace_back("-no-cache");
    reporting.emplace_back("-Xptxas=-v");
    if (includes_heavy_headers(request.source) && request.instantiation.defines.empty() && !headers_->path().empty()) {
      // 629: a precompiled header of other options is there too.
      reporting.insert(reporting.end(), {"-pch", "-pch-dir=" + headers_->path().string(), "-pch-messages=false", "-diag-suppress=629"});
    }
    std::vector<std::string> minimal = reporting;
    minimal.emplace_back("-minimal");

    std::string log;
    if (minimal_ && attempt(request, minimal, key, reply, log)) return;
    // Without the word, ptxas' report has taken the place of its error: `-minimal` is not to blame.
    if (!minimal_ || log.find("error") != std::string::npos) {
      if (attempt(request, reporting, key, reply, log)) {
        minimal_ = false;
        return;
      }
    }
    if (log.find("error") == std::string::npos && attempt(request, options, key, reply, log)) return;
    reply.outcome = classify_failure(log);
    reply.message = clean_log(log);
  }

  // Compiles once. False, with the log, if that fails.
  bool attempt(const CompileRequest& request, const std::vector<std::string>& options, const std::string& key, CompileReply& reply,
               std::string& log) {
    NvrtcProgram program(*nvrtc_, request.source);
    const bool compiled = program.compile(request.instantiation, options);
    log = program.log();
    if (compiled) finish(request, program, key, reply);
    return compiled;
  }

  static Resources resources_of(const std::string& cubin, const std::string& log, const std::string& symbol) {
    Resources resources = parse_ptxas_report(log, symbol);
    resources.code_bytes = cubin.empty() ? -1 : code_bytes(cubin, symbol);
    return resources;
  }

  void finish(const CompileRequest& request, const NvrtcProgram& program, const std::string& key, CompileReply& reply) {
    const std::string cubin = program.cubin();
    const std::string log = program.log();
    // Kernels that NVRTC does not take as a name expression have C linkage: their name is their symbol.
    reply.symbol = program.lowered_name(request.instantiation.name_expression).value_or(request.instantiation.entry);
    reply.resources = resources_of(cubin, log, reply.symbol);
    std::string missing = reply.resources.code_bytes < 0 ? request.instantiation.name_expression : "";
    for (const KernelName& other : request.instantiation.others) {
      reply.other_symbols.push_back(program.lowered_name(other.expression).value_or(other.entry));
      const Resources more = resources_of(cubin, log, reply.other_symbols.back());
      if (more.code_bytes < 0 && missing.empty()) missing = other.expression;
      reply.resources = most_needed(reply.resources, more);
    }
    if (!missing.empty()) {
      reply.outcome = Outcome::compile_error;
      reply.message = fmt::format("the source compiles, but has no __global__ function {}", missing);
      return;
    }
    reply.message = clean_log(log);
    const nlohmann::json metadata = {{"symbol", reply.symbol},
                                     {"other_symbols", reply.other_symbols},
                                     {"log", reply.message},
                                     {"resources", reply.resources.to_json()},
                                     {"options", reply.options},
                                     {"name_expression", request.instantiation.name_expression},
                                     {"nvrtc", identity_}};
    reply.artifact = cache_->publish(key, cubin, metadata).string();
    if (request.emit) emit(program, reply);
  }

  void emit(const NvrtcProgram& program, CompileReply& reply) const {
    reply.emitted.emplace_back("kernel.ptx", program.ptx());
    reply.emitted.emplace_back("options.txt", reply.options + "\n");
    const std::filesystem::path library = nvrtc_->file().parent_path();
    const auto sass = disassemble(reply.artifact, {library / "../bin", library / "../../bin", library / "../../../bin"});
    if (sass) reply.emitted.emplace_back("kernel.sass", *sass);
  }

  std::unique_ptr<NvrtcLibrary> nvrtc_;
  std::unique_ptr<ArtifactCache> cache_;  // made first: refuses a folder that is not private
  std::optional<PrecompiledHeaders> headers_;
  std::vector<std::string> include_options_;
  std::string identity_;
  std::string error_;
  bool has_no_cache_ = false;  // older versions refuse the option
  bool minimal_ = true;
};

}  // namespace

std::unique_ptr<CompilerBackend> make_cuda_compiler() { return std::make_unique<CudaCompiler>(true); }
std::unique_ptr<CompilerBackend> make_cuda_compiler_in_application() { return std::make_unique<CudaCompiler>(false); }

}  // namespace tunebook
