#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/device.h"
#include "core/launch_plan.h"
#include "core/outcome.h"
#include "core/template_folder.h"
#include "worker/artifact_cache.h"
#include "worker/worker_main.h"

namespace tunebook {

// One configuration's cubin, or why there is none.
struct StoredCubin {
  Outcome outcome = Outcome::ok;
  std::string message;     // of the compiler, if the outcome is not ok
  std::string path;
  std::vector<std::string> symbols;  // of the instantiation's kernels, in its order
  Resources resources;
  bool cached = false;
  double compile_seconds = 0;
  std::string note;        // what a user should know; empty: nothing
};

// Cubins for applications: from memory, from the user's cache, or compiled.
//
// The compiler's own cache is keyed by the version of NVRTC, which is known once its 100 MB are open. In front of it is an index by
// everything else that changes a cubin. An entry names the NVRTC file that made it: while the search for NVRTC has not changed and that
// file is there, of the same size and date, the entry holds and nothing is opened.
class CubinStore {
 public:
  struct Compiler {
    std::function<std::unique_ptr<CompilerBackend>()> make;
    // The file of the compiler that `make` has opened; "" if it is not known: its cubins are then compiled anew by each process.
    std::function<std::string()> file;
  };

  // Throws EnvironmentError if the cache is refused.
  explicit CubinStore(Compiler compiler);

  // From memory or the cache. Also what is known not to compile.
  std::optional<StoredCubin> find(const SourceText& source, const Instantiation& instantiation, const std::string& arch);
  // Compiles are for a caller that waits, or for nobody in particular: neither kind stands in the way of the other.
  enum class Lane { foreground, background };
  // The same, compiling if need be; one compile at a time in each lane. Throws EnvironmentError if there is neither a cubin nor a
  // compiler.
  StoredCubin get(const SourceText& source, const Instantiation& instantiation, const std::string& arch, Lane lane);

 private:
  struct Indexed {
    StoredCubin cubin;
    std::string compiler;  // identity, for messages
    bool holds = false;
  };
  std::optional<Indexed> find_indexed(const std::string& key, std::size_t others);  // kernels besides the first
  std::optional<StoredCubin> find_known(const std::string& key);
  // A compiler serves one thread at a time; each lane has its own.
  struct Backend {
    std::mutex mutex;  // before index_mutex_
    std::unique_ptr<CompilerBackend> compiler;
    std::string identity, error;
  };
  void open(Backend& backend);
  void keep(const std::string& key, StoredCubin& cubin, const CompileReply& reply, const std::string& compiler);

  Compiler how_;
  std::array<Backend, 2> backends_;

  std::mutex index_mutex_;
  ArtifactCache index_;
  std::unordered_map<std::string, StoredCubin> known_;
};

// NVRTC in this process.
CubinStore::Compiler nvrtc_in_process();

}  // namespace tunebook
