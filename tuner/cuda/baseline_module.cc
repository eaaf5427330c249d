#include "cuda/baseline_module.h"

#include <array>
#include <cstdlib>
#include <string_view>
#include <system_error>

#include <dlfcn.h>

#include <fmt/format.h>

namespace tunebook {
namespace fs = std::filesystem;
namespace {

constexpr const char* kFile = "libtunebook-baselines.so";
constexpr std::size_t kMessageBytes = 2048;

// Where it is; throws if it is nowhere.
fs::path find_module() {
  std::error_code error;
  if (const char* named = std::getenv("TUNEBOOK_BASELINES"); named != nullptr && *named != '\0') {
    if (fs::exists(named, error)) return named;
    throw BaselineUnavailable(fmt::format("$TUNEBOOK_BASELINES names {}, which is not there", named));
  }
  const fs::path own_folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const char* folder : {".", "../lib/tunebook", "../../lib/tunebook", "../lib64/tunebook"}) {
    const fs::path candidate = own_folder / folder / kFile;
    if (fs::exists(candidate, error)) return fs::weakly_canonical(candidate, error);
  }
  throw BaselineUnavailable(fmt::format("{} was not found beside {} nor in ../lib/tunebook; it comes with a build that has nvcc, "
                                        "and $TUNEBOOK_BASELINES may name it",
                                        kFile, own_folder.string()));
}

template <typename Function>
void resolve(void* handle, const fs::path& file, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(::dlsym(handle, name));
  if (function == nullptr) throw BaselineUnavailable(fmt::format("{} lacks {}: it is of another build", file.string(), name));
}

}  // namespace

BaselineModule::BaselineModule() : file_(find_module()) {
  void* handle = ::dlopen(file_.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) throw BaselineUnavailable(fmt::format("{} cannot be loaded: {}", file_.string(), ::dlerror()));
  resolve(handle, file_, "tunebook_baseline_abi", abi_);
  if (abi_() != TUNEBOOK_BASELINE_ABI) throw BaselineUnavailable(fmt::format("{} is of another build; install both together", file_.string()));
  resolve(handle, file_, "tunebook_baseline_libraries", libraries_);
  resolve(handle, file_, "tunebook_baseline_create", create_);
  resolve(handle, file_, "tunebook_baseline_destroy", destroy_);
  resolve(handle, file_, "tunebook_baseline_name", name_);
  resolve(handle, file_, "tunebook_baseline_algorithms", algorithms_);
  resolve(handle, file_, "tunebook_baseline_algorithm_name", algorithm_name_);
  resolve(handle, file_, "tunebook_baseline_enqueue", enqueue_);
}

BaselineModule::Prepared::Prepared(const BaselineModule& module, const TunebookBaselineRequest& request) : module_(module) {
  std::array<char, kMessageBytes> message{};
  const int status = module_.create_(&request, &baseline_, message.data(), message.size());
  if (status == TUNEBOOK_BASELINE_UNAVAILABLE) throw BaselineUnavailable(message.data());
  if (status != TUNEBOOK_BASELINE_OK) throw std::runtime_error(message.data());
}

BaselineModule::Prepared::~Prepared() {
  if (baseline_ != nullptr) module_.destroy_(baseline_);
}

void BaselineModule::Prepared::enqueue(int algorithm, const std::vector<void*>& pointers) const {
  std::array<char, kMessageBytes> message{};
  if (module_.enqueue_(baseline_, algorithm, pointers.data(), message.data(), message.size()) != TUNEBOOK_BASELINE_OK) {
    throw std::runtime_error(message.data());
  }
}

bool is_baseline_listing(int argc, char** argv) { return argc == 2 && std::string_view(argv[1]) == "--list-baselines"; }

int list_baselines() {
  try {
    const BaselineModule module;
    fmt::print("{}\n{}\n", module.file().string(), module.libraries());
    return EXIT_SUCCESS;
  } catch (const BaselineUnavailable& error) {
    fmt::print("{}\n", error.what());
    return EXIT_FAILURE;
  }
}

}  // namespace tunebook
