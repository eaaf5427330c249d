#include "cli_support.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

extern char** environ;

namespace tunebook::test {
namespace {

using Clock = std::chrono::steady_clock;
constexpr const char* kMarker = "TUNEBOOK_TEST_FOLDER";

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

std::filesystem::path make_folder() {
  std::string name = (std::filesystem::temp_directory_path() / "tunebook-cli-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
  return name;
}

// This process's environment without what would reach a user's own book, changed by `changes`.
std::vector<std::string> environment_with(const std::map<std::string, std::string>& changes) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::string name = text.substr(0, text.find('='));
    if (!name.starts_with("TUNEBOOK_") && !name.starts_with("XDG_") && !changes.contains(name)) result.push_back(text);
  }
  for (const auto& [name, value] : changes) result.push_back(name + "=" + value);
  return result;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

}  // namespace

RunningProgram::RunningProgram(pid_t pid, std::filesystem::path out, std::filesystem::path err)
    : pid_(pid), out_(std::move(out)), err_(std::move(err)) {}

RunningProgram::~RunningProgram() {
  if (waited_) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void RunningProgram::send(int signal) const { ::kill(pid_, signal); }

ProgramResult RunningProgram::wait(double timeout_s) {
  ProgramResult result;
  const Clock::time_point start = Clock::now();
  int status = 0;
  struct rusage usage {};
  while (::wait4(pid_, &status, WNOHANG, &usage) == 0) {
    if (!result.timed_out && seconds_since(start) > timeout_s) {
      result.timed_out = true;
      ::kill(pid_, SIGKILL);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  waited_ = true;
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  result.peak_memory_bytes = static_cast<std::int64_t>(usage.ru_maxrss) * 1024;
  result.out = read_file(out_);
  result.err = read_file(err_);
  return result;
}

CliTest::CliTest() : folder_(make_folder()) {
  std::filesystem::create_directory(folder_ / "home");
  environment_ = {{"TUNEBOOK_BOOK", book().string()},
                  {"TUNEBOOK_CACHE", (folder_ / "cache").string()},
                  {"HOME", (folder_ / "home").string()},
                  {"NO_COLOR", "1"},
                  {kMarker, folder_.string()}};
}

CliTest::~CliTest() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

RunningProgram CliTest::start(const std::vector<std::string>& arguments) {
  const std::string stem = "run" + std::to_string(++runs_);
  const std::filesystem::path out = out_.empty() ? folder_ / (stem + ".out") : out_;
  const std::filesystem::path err = folder_ / (stem + ".err");
  std::vector<std::string> words = {TUNEBOOK_BIN_DIR "/tunebook"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> environment = environment_with(environment_);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_addopen(&actions, 2, err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  for (int fd = 0; closed_ && fd <= 2; ++fd) posix_spawn_file_actions_addclose(&actions, fd);
  pid_t pid = -1;
  const int error = posix_spawn(&pid, words.front().c_str(), &actions, nullptr, pointers(words).data(), pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::runtime_error("cannot start " + words.front());
  return RunningProgram(pid, out_.empty() ? out : "", err);
}

ProgramResult CliTest::run(const std::vector<std::string>& arguments, double timeout_s) {
  ProgramResult result = start(arguments).wait(timeout_s);
  EXPECT_FALSE(result.timed_out) << testing::PrintToString(arguments) << '\n' << result.err;
  EXPECT_EQ(result.signal, 0) << testing::PrintToString(arguments) << '\n' << result.err;
  return result;
}

ProgramResult CliTest::run_into(const std::filesystem::path& out, const std::vector<std::string>& arguments) {
  out_ = out;
  ProgramResult result = run(arguments);
  out_.clear();
  return result;
}

nlohmann::ordered_json CliTest::run_json(const std::vector<std::string>& arguments, double timeout_s) {
  const ProgramResult result = run(arguments, timeout_s);
  EXPECT_EQ(result.exit_code, 0) << testing::PrintToString(arguments) << '\n' << result.err;
  return parse_one_line(result.out);
}

void CliTest::expect_bad_input(const std::vector<std::string>& arguments, const std::vector<std::string>& parts) {
  SCOPED_TRACE(testing::PrintToString(arguments));
  const ProgramResult result = run(arguments);
  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_EQ(result.out, "");
  EXPECT_TRUE(result.err.starts_with("tunebook: ")) << result.err;
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  for (const std::string& part : parts) {
    EXPECT_NE(result.err.find(part), std::string::npos) << "no \"" << part << "\" in: " << result.err;
  }
  EXPECT_FALSE(std::filesystem::exists(book())) << "a book was made";
}

std::filesystem::path CliTest::write(const std::string& name, const std::string& content) {
  const std::filesystem::path path = folder_ / name;
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

std::vector<pid_t> CliTest::processes_left() const {
  const std::string marker = std::string(kMarker) + "=" + folder_.string();
  std::vector<pid_t> left;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    // Empty for zombies and unreadable for other users' processes.
    if (('\0' + read_file(entry.path() / "environ")).find('\0' + marker + '\0') != std::string::npos) left.push_back(std::stoi(name));
  }
  return left;
}

bool CliTest::all_gone() const {
  const Clock::time_point start = Clock::now();
  while (seconds_since(start) < 10) {
    if (processes_left().empty()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return false;
}

nlohmann::ordered_json parse_one_line(const std::string& out) {
  EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), 1) << out;
  EXPECT_TRUE(out.ends_with('\n')) << out;
  nlohmann::ordered_json json = nlohmann::ordered_json::parse(out, nullptr, false);
  EXPECT_TRUE(json.is_object()) << out;
  return json;
}

std::vector<std::string> keys_of(const nlohmann::ordered_json& object) {
  std::vector<std::string> keys;
  for (const auto& item : object.items()) keys.push_back(item.key());
  return keys;
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string user_kernels() { return TUNEBOOK_SOURCE_DIR "/tests/data/user_kernels"; }
std::string fault_kernels() { return TUNEBOOK_SOURCE_DIR "/tests/faults"; }

std::string no_cuda_compiler() {
  return std::filesystem::exists(TUNEBOOK_BIN_DIR "/tunebook-cuda-worker") ? "" : "built without the CUDA worker";
}

}  // namespace tunebook::test
