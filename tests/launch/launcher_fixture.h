#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "../cuda/compile_support.h"
#include "../db/book_fixture.h"
#include "core/template_folder.h"
#include "db/store.h"
#include "fake_parts.h"
#include "launch/launcher_core.h"

namespace tunebook::testing {

// A folder with the small kernel of the book's tests as a template, a book about it, and a cache of its own.
class LauncherTest : public BookTest {
 protected:
  void SetUp() override {
    BookTest::SetUp();
    world_.folder = folder_ / "made";
    std::filesystem::create_directories(world_.folder);
    write(world_.compiler_file(), "the compiler");
    write_template(kSpecText);
    ::unsetenv("TUNEBOOK_BOOK");
  }

  static void write(const std::filesystem::path& path, const std::string& text) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  std::filesystem::path templates() const { return folder_ / "templates"; }
  // The kernel multiplies nothing: what is tested is what it is launched with.
  void write_template(const std::string& spec, const std::string& body = "c[threadIdx.x] = a[0] * b[0] + static_cast<T>(m + BM + PAD);") {
    write(templates() / "matmul/kernel.json", spec);
    write(templates() / "matmul/kernel.cu",
          "template <typename T, int BM, bool PAD>\n__global__ void matmul(T* c, const T* a, const T* b, long long m) {\n" + body + "\n}\n");
    write(templates() / "matmul/reference.cu", "extern \"C\" __global__ void matmul_reference() {}\n");
  }
  TrialContext context() const {
    TrialContext context = some_context();
    context.kernel_hash = load_template(templates() / "matmul").hash;
    return context;
  }
  // The book says: on 128 x 64 x 64 this one is best.
  void tune(const Configuration& configuration, std::uint64_t seed = 1) {
    Store store(file());
    add_finished_session(store, context(), matmul_problem(128, 64, 64), configuration, 10, seed);
  }

  LaunchOptions options() const {
    LaunchOptions options;
    options.templates = {templates().string()};
    if (std::filesystem::exists(file())) options.book = file().string();
    options.lookup.refresh_interval = std::chrono::milliseconds(0);
    return options;
  }
  std::unique_ptr<LauncherCore> launcher(const LaunchOptions& chosen) {
    return std::make_unique<LauncherCore>(chosen, std::make_unique<FakeDevice>(world_, some_gpu()), fake_compiler(world_));
  }
  std::unique_ptr<LauncherCore> launcher() { return launcher(options()); }

  static LookupValues problem(std::int64_t m) { return {{"m", m}, {"n", std::int64_t{64}}, {"k", std::int64_t{64}}}; }
  static LookupValues tile_values(std::int64_t bm, bool pad) { return {{"BM", bm}, {"PAD", pad}}; }

  PrivateCache cache_;
  FakeWorld world_;
};

}  // namespace tunebook::testing
