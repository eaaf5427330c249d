#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/template_folder.h"
#include "launch/cubin_store.h"
#include "launch/job_queue.h"
#include "launch/kernel_choice.h"
#include "launch/kernel_slot.h"
#include "launch/launch_device.h"
#include "launch/launch_refiner.h"
#include "tunebook/launch.h"

namespace tunebook {

// Behind Launcher: everything but the choice of device and compiler, which are given.
class LauncherCore {
 public:
  // What Lookup::ranked() does.
  using Ranked = std::function<std::vector<Answer>(const Query& query, std::size_t count)>;
  // `ranked`: instead of the book's own; for tests.
  LauncherCore(LaunchOptions options, std::unique_ptr<LaunchDevice> device, CubinStore::Compiler compiler, Ranked ranked = {});
  ~LauncherCore();
  LauncherCore(const LauncherCore&) = delete;
  LauncherCore& operator=(const LauncherCore&) = delete;

  std::shared_ptr<KernelSlot> get(std::string_view kernel, const LookupValues& problem);
  Cubin cubin(std::string_view kernel, const LookupValues& problem);

 private:
  using Clock = std::chrono::steady_clock;

  // One problem of one kernel.
  struct Entry {
    std::shared_ptr<const KernelTemplate> kernel;
    Problem problem;
    Query query;
    std::shared_ptr<KernelSlot> slot;
    std::atomic<bool> built{false};
    std::atomic<Clock::rep> ask_again{0};  // not before this time
    std::mutex mutex;                      // of what follows, and of asking and building
    std::shared_ptr<const Answer> answer;
    std::shared_ptr<double> refine_seconds;  // left; used by the thread of refining_ alone
  };
  // A problem as it was written.
  struct Asked {
    std::string kernel;
    LookupValues problem;
  };
  struct AskedView {
    std::string_view kernel;
    const LookupValues& problem;
  };
  struct AskedHash {
    using is_transparent = void;
    std::size_t operator()(const AskedView& asked) const;
    std::size_t operator()(const Asked& asked) const { return (*this)(AskedView{asked.kernel, asked.problem}); }
  };
  struct AskedEqual {
    using is_transparent = void;
    template <class X, class Y>
    bool operator()(const X& x, const Y& y) const {
      return x.kernel == y.kernel && x.problem == y.problem;
    }
  };
  // What the book says now, and what is wrong with asking.
  struct Reply {
    std::shared_ptr<const Answer> answer;
    std::string complaint;
  };
  enum class Loading { no, yes };
  using Lane = CubinStore::Lane;
  // A compiled plan; `loaded` only if that was asked for.
  struct Realised {
    CompiledKernel about;
    std::shared_ptr<const LoadedLaunch> loaded;
  };

  std::shared_ptr<Entry> find(const AskedView& asked) const;
  std::shared_ptr<Entry> add(const AskedView& asked);
  std::shared_ptr<const KernelTemplate> load(const std::string& kernel);
  Reply ask(const Query& query) const;
  KernelChoice choose_for(const Entry& entry, const Reply& reply) const;
  void refresh(Entry& entry);
  void build(Entry& entry, const Reply& reply);
  void build_in_background(Entry& entry, KernelChoice choice, std::uint64_t number);

  // Compiles a plan (and loads it). Empty, with the reason, if another configuration has to do. Throws EnvironmentError, LaunchError.
  std::optional<Realised> realise(const KernelTemplate& kernel, const LaunchPlan& plan, Loading loading, Lane lane, std::string& obstacle);
  std::optional<Realised> finish(const KernelTemplate& kernel, const LaunchPlan& plan, const StoredCubin& cubin, Loading loading,
                                 std::string& obstacle);
  // The best of the choice, else the fallback with a note. Throws std::runtime_error if neither works.
  Realised realise(const KernelTemplate& kernel, const KernelChoice& choice, Loading loading, Lane lane);
  static void install(KernelSlot& slot, Realised realised, std::uint64_t number);
  // What ran so far goes on running, with a note.
  static void give_up(KernelSlot& slot, const std::string& reason, std::uint64_t number);

  // After a choice was installed: refines it if that is wanted and the book has no exact answer.
  void start_refining(Entry& entry, std::uint64_t number);
  // Compiles candidates. Throws what compiling and asking throw; a candidate's fault is data.
  void prepare_refining(Entry& entry, std::uint64_t number);
  RefineCandidate refine_candidate(const Entry& entry, const Answer& answer, std::int64_t copies_bytes);

  const LaunchOptions options_;
  const std::vector<std::filesystem::path> search_path_;
  const std::shared_ptr<LaunchDevice> device_;
  const DeviceKey device_key_;
  std::optional<Lookup> book_;
  Ranked ranked_;  // empty: there is no book
  CubinStore cubins_;

  std::mutex templates_mutex_;
  std::map<std::string, std::shared_ptr<const KernelTemplate>> templates_;

  mutable std::shared_mutex table_mutex_;
  std::unordered_map<Asked, std::shared_ptr<Entry>, AskedHash, AskedEqual> asked_;
  std::unordered_map<std::string, std::shared_ptr<Entry>> entries_;  // by kernel and canonical problem

  // Stopped first: their jobs use what is above.
  JobQueue compiling_;
  const std::shared_ptr<JobQueue> refining_ = std::make_shared<JobQueue>();
};

}  // namespace tunebook
