#include "launch/cubin_store.h"

#include <sys/stat.h>

#include <cstdlib>
#include <exception>
#include <fstream>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/hash.h"
#include "cuda/cuda_backend.h"
#include "cuda/nvrtc_library.h"

namespace tunebook {
namespace {

// Part of every key: raise it when the meaning of an entry changes, or what the compiler adds to a source.
constexpr const char* kIndexFormat = "launch/2";

std::string key_of(const SourceText& source, const Instantiation& instantiation, const std::string& arch) {
  HashBuilder hash;
  hash.add(kIndexFormat).add(arch).add(source.file).add(source.text).add(instantiation.entry).add(instantiation.name_expression);
  for (const KernelName& other : instantiation.others) hash.add("kernel").add(other.entry).add(other.expression);
  for (const auto& [name, value] : instantiation.defines) hash.add(name).add(value);
  hash.add("options");
  for (const std::string& option : instantiation.options) hash.add(option);
  hash.add("headers");
  for (const auto& [name, text] : source.headers) hash.add(name).add(text);
  return hash.hex();
}

// What decides which NVRTC is found, besides the files on disk.
std::string search_identity() {
  HashBuilder hash;
  for (const char* name : {"LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH"}) {
    const char* const value = std::getenv(name);
    hash.add(value == nullptr ? "" : value);
  }
  return hash.hex();
}

// Path, size and date; null if there is no such file.
nlohmann::json file_identity(const std::string& file) {
  struct stat status = {};
  if (file.empty() || ::stat(file.c_str(), &status) != 0) return nullptr;
  return {{"file", file}, {"bytes", status.st_size}, {"changed", status.st_mtime}, {"search", search_identity()}};
}

bool exists(const std::string& file) {
  struct stat status = {};
  return ::stat(file.c_str(), &status) == 0;
}

}  // namespace

CubinStore::CubinStore(Compiler compiler) : how_(std::move(compiler)), index_("launch", "cubin") {}

std::optional<StoredCubin> CubinStore::find_known(const std::string& key) {
  const auto known = known_.find(key);
  if (known == known_.end()) return std::nullopt;
  // The cache may have been emptied meanwhile.
  if (known->second.outcome == Outcome::ok && !exists(known->second.path)) {
    known_.erase(known);
    return std::nullopt;
  }
  return known->second;
}

std::optional<CubinStore::Indexed> CubinStore::find_indexed(const std::string& key, std::size_t others) {
  const auto entry = index_.lookup(key);
  if (!entry) return std::nullopt;
  try {
    Indexed found;
    found.cubin.symbols = entry->metadata.at("symbols").get<std::vector<std::string>>();
    if (found.cubin.symbols.size() != 1 + others) return std::nullopt;  // damaged
    found.cubin.resources = Resources::from_json(entry->metadata.at("resources"));
    found.cubin.path = entry->artifact.string();
    found.cubin.cached = true;
    found.compiler = entry->metadata.at("compiler").get<std::string>();
    const nlohmann::json& made_by = entry->metadata.at("made_by");
    found.holds = made_by.is_object() && made_by == file_identity(made_by.at("file").get<std::string>());
    return found;
  } catch (const std::exception&) {
    return std::nullopt;  // damaged: compile again
  }
}

std::optional<StoredCubin> CubinStore::find(const SourceText& source, const Instantiation& instantiation, const std::string& arch) {
  const std::string key = key_of(source, instantiation, arch);
  const std::lock_guard lock(index_mutex_);
  if (auto known = find_known(key)) return known;
  const auto indexed = find_indexed(key, instantiation.others.size());
  if (!indexed || !indexed->holds) return std::nullopt;
  known_[key] = indexed->cubin;
  return indexed->cubin;
}

void CubinStore::open(Backend& backend) {
  if (backend.compiler != nullptr) return;
  backend.compiler = how_.make();
  const Hello hello = backend.compiler->hello();
  backend.identity = hello.toolchain;
  backend.error = hello.error;
}

StoredCubin CubinStore::get(const SourceText& source, const Instantiation& instantiation, const std::string& arch, Lane lane) {
  if (auto found = find(source, instantiation, arch)) return *found;  // without waiting for a compile of something else
  Backend& backend = backends_.at(static_cast<std::size_t>(lane));
  const std::lock_guard one_compile(backend.mutex);
  if (auto found = find(source, instantiation, arch)) return *found;
  const std::string key = key_of(source, instantiation, arch);
  open(backend);
  if (!backend.error.empty()) {
    const std::lock_guard lock(index_mutex_);
    auto indexed = find_indexed(key, instantiation.others.size());
    if (!indexed) throw EnvironmentError(fmt::format("{} is not in the cache and cannot be compiled: {}", instantiation.name_expression, backend.error));
    indexed->cubin.note = fmt::format("the cubin was compiled by {}, which is not here any more: {}", indexed->compiler, backend.error);
    return known_[key] = indexed->cubin;
  }
  CompileRequest request;
  request.source = source;
  request.instantiation = instantiation;
  request.arch = arch;
  const CompileReply reply = backend.compiler->compile(request);
  StoredCubin cubin;
  cubin.outcome = reply.outcome;
  if (reply.outcome != Outcome::ok) cubin.message = reply.message;
  cubin.path = reply.artifact;
  cubin.symbols = {reply.symbol};
  cubin.symbols.insert(cubin.symbols.end(), reply.other_symbols.begin(), reply.other_symbols.end());
  cubin.resources = reply.resources;
  cubin.cached = reply.cached;
  cubin.compile_seconds = reply.seconds;
  const std::lock_guard lock(index_mutex_);
  keep(key, cubin, reply, backend.identity);
  return cubin;
}

// Into the index, and into memory, where it counts as cached from the next time on.
void CubinStore::keep(const std::string& key, StoredCubin& cubin, const CompileReply& reply, const std::string& compiler) {
  if (cubin.outcome == Outcome::ok) {
    const nlohmann::json metadata = {{"symbols", cubin.symbols},
                                     {"resources", reply.resources.to_json()},
                                     {"compiler", compiler},
                                     {"made_by", file_identity(how_.file())}};
    cubin.path = index_.publish_file(key, reply.artifact, metadata).string();
  }
  StoredCubin& known = known_[key] = cubin;
  known.cached = true;
  known.compile_seconds = 0;
}

CubinStore::Compiler nvrtc_in_process() {
  return {make_cuda_compiler_in_application, [] { return NvrtcLibrary().file().string(); }};
}

}  // namespace tunebook
