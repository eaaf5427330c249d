#pragma once

// A compiler and a device for tests of LauncherCore: nothing is compiled and nothing is launched, everything is counted.

#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <mutex>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/outcome.h"
#include "launch/cubin_store.h"
#include "launch/launch_device.h"

namespace tunebook::testing {

// What all fakes of one test share.
struct FakeWorld {
  std::filesystem::path folder;      // for "cubins" and the compiler's file
  std::string compiler_error;        // not empty: there is no compiler
  std::set<std::string> broken;      // name expressions that do not compile
  std::set<std::string> unloadable;  // name expressions that the device refuses
  std::shared_future<void> gate;     // if valid, compiles of `gated` wait for it
  std::string gated;
  std::atomic<bool> at_gate{false};

  // Copies of arguments: GPU time by name expression (others take 10 us), and what goes wrong on them.
  std::map<std::string, double> us;
  std::set<std::string> wrong, failing, deadly;
  std::atomic<int> copied{0};        // launches whose arguments were copied
  bool capturing = false;            // the next launch is captured in a graph, and no longer after it
  std::string copies_error;          // not empty: buffers cannot be copied
  std::atomic<std::int64_t> copy_bytes{0};

  std::mutex mutex;
  std::vector<std::string> timed;     // runs on copies, in order
  std::vector<std::string> compiled;  // name expressions, in order
  std::vector<std::string> launched;
  std::vector<std::vector<void*>> arguments;

  std::filesystem::path compiler_file() const { return folder / "compiler"; }
  std::vector<std::string> compiles() {
    const std::lock_guard lock(mutex);
    return compiled;
  }
};

class FakeCompiler : public CompilerBackend {
 public:
  explicit FakeCompiler(FakeWorld& world) : world_(world) {}
  Hello hello() override {
    Hello hello;
    hello.toolchain = "fake 1.0";
    hello.error = world_.compiler_error;
    return hello;
  }
  CompileReply compile(const CompileRequest& request) override {
    const std::string& name = request.instantiation.name_expression;
    if (world_.gate.valid() && name == world_.gated) {
      world_.at_gate = true;
      world_.gate.wait();
    }
    const std::lock_guard lock(world_.mutex);
    world_.compiled.push_back(name);
    CompileReply reply;
    if (world_.broken.count(name) != 0) {
      reply.outcome = Outcome::compile_error;
      reply.message = "error: \x1b[31mbroken";
      return reply;
    }
    reply.artifact = (world_.folder / ("made-" + std::to_string(world_.compiled.size()))).string();
    std::ofstream(reply.artifact) << "cubin of " << name << " for " << request.arch;
    reply.symbol = "symbol of " + name;
    reply.resources.registers = 40;
    reply.seconds = 0.25;
    return reply;
  }

 private:
  FakeWorld& world_;
};

class FakeDevice : public LaunchDevice {
 public:
  FakeDevice(FakeWorld& world, Device device) : world_(world), device_(std::move(device)) {}
  const Device& device() const override { return device_; }
  const std::string& native_arch() const override { return native_arch_; }
  std::shared_ptr<const LoadedLaunch> load(const std::string& cubin, const LaunchRecipe& recipe) override {
    const std::string& symbol = recipe.steps.front().symbol;
    if (!std::filesystem::exists(cubin)) throw KernelRefused("no such cubin");
    for (const std::string& name : world_.unloadable) {
      if (symbol == "symbol of " + name) throw KernelRefused("too many registers");
    }
    return std::make_shared<Loaded>(world_, symbol);
  }

  std::unique_ptr<LaunchCopies> copy_arguments(const CopyPlan& plan, void**, CUstream_st*) override {
    const std::lock_guard lock(world_.mutex);
    if (!world_.copies_error.empty()) throw std::invalid_argument(world_.copies_error);
    if (world_.capturing) {
      world_.capturing = false;
      return nullptr;
    }
    ++world_.copied;
    world_.copy_bytes = plan.bytes();
    return std::make_unique<Copies>(world_);
  }

 private:
  class Copies : public LaunchCopies {
   public:
    explicit Copies(FakeWorld& world) : world_(world) {}
    Run run(const LoadedLaunch& launch) override {
      const std::lock_guard lock(world_.mutex);
      last_ = dynamic_cast<const Loaded&>(launch).name();
      world_.timed.push_back(last_);
      if (world_.deadly.count(last_) != 0) throw LaunchError(700, "an illegal memory access was encountered");
      if (world_.failing.count(last_) != 0) throw CandidateFailed(Outcome::launch_error, "refused");
      const auto known = world_.us.find(last_);
      const double us = known == world_.us.end() ? 10 : known->second;
      return {us, us};
    }
    void keep_results() override {}
    std::string difference() override {
      const std::lock_guard lock(world_.mutex);
      return world_.wrong.count(last_) != 0 ? "c[3] is 1, but 2" : "";
    }

   private:
    FakeWorld& world_;
    std::string last_;
  };

  class Loaded : public LoadedLaunch {
   public:
    Loaded(FakeWorld& world, std::string symbol) : world_(world), symbol_(std::move(symbol)) {}
    void launch(void** arguments, CUstream_st*) const override {
      const std::lock_guard lock(world_.mutex);
      world_.launched.push_back(symbol_);
      world_.arguments.emplace_back(arguments, arguments + 4);
    }
    std::string name() const { return symbol_.substr(std::string("symbol of ").size()); }

   private:
    FakeWorld& world_;
    std::string symbol_;
  };

  FakeWorld& world_;
  Device device_;
  std::string native_arch_ = "sm_90";
};

inline CubinStore::Compiler fake_compiler(FakeWorld& world) {
  return {[&world] { return std::make_unique<FakeCompiler>(world); }, [&world] { return world.compiler_file().string(); }};
}

}  // namespace tunebook::testing
