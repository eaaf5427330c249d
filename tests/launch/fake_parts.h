#pragma once

// A compiler and a device for tests of LauncherCore: nothing is compiled and nothing is launched, everything is counted.

#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <mutex>
#include <set>
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

  std::mutex mutex;
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

 private:
  class Loaded : public LoadedLaunch {
   public:
    Loaded(FakeWorld& world, std::string symbol) : world_(world), symbol_(std::move(symbol)) {}
    void launch(void** arguments, CUstream_st*) const override {
      const std::lock_guard lock(world_.mutex);
      world_.launched.push_back(symbol_);
      world_.arguments.emplace_back(arguments, arguments + 4);
    }

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
