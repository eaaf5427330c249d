#include "session/tool_worker.h"

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "core/error.h"
#include "session/runner.h"

namespace tunebook {
namespace {

constexpr double kStopPollSeconds = 0.2;
constexpr double kEndSeconds = 5;  // beyond what the tool may take

}  // namespace

ToolAnswers run_under_tool(EventLoop& loop, const ToolJob& job) {
  ToolAnswers answers;
  bool over = false;
  bool gone = false;
  std::unique_ptr<WorkerProcess> worker;
  const auto fail = [&](const std::string& why) {
    answers.lost = why;
    over = true;
  };
  const auto send_next = [&] {
    if (answers.replies.size() == job.requests.size()) {
      over = true;
      return;
    }
    worker->send(job.requests[answers.replies.size()]);
    worker->arm_deadline(job.step_s);
  };
  WorkerCallbacks callbacks;
  callbacks.on_hello = [&](const Hello& hello) {
    if (!hello.error.empty()) return fail(hello.error);
    worker->send(job.setup);
    worker->arm_deadline(Runner::Limits{}.setup_s);
  };
  callbacks.on_reply = [&](Reply reply) {
    if (const auto* setup = std::get_if<SetupReply>(&reply)) {
      if (setup->outcome != Outcome::ok) return fail(setup->message);
      send_next();
    } else if (auto* run = std::get_if<RunReply>(&reply)) {
      const bool ok = run->outcome == Outcome::ok;
      answers.replies.push_back(std::move(*run));
      if (ok) {
        send_next();
      } else {
        over = true;
      }
    }
  };
  callbacks.on_lost = [&](const LostReason& reason) {
    gone = true;
    answers.output = reason.error_output;
    LostReason without_output = reason;
    without_output.error_output.clear();
    const LossOutcome loss = outcome_of_loss(without_output);
    answers.lost_outcome = loss.outcome;
    fail(loss.message);
  };
  worker = std::make_unique<WorkerProcess>(loop, job.worker, std::move(callbacks), job.start_s);
  const auto stopped = [&] { return job.stop && job.stop(); };
  while (!over && !stopped()) loop.run_until([&] { return over; }, kStopPollSeconds);
  answers.stopped = !over;
  if (!gone && !answers.stopped) {
    worker->shut_down([&] { gone = true; });
    const double end_s = job.worker.wrapper_end_s + kEndSeconds;
    const auto began = std::chrono::steady_clock::now();
    const auto waited_s = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count(); };
    while (!gone && !stopped() && waited_s() < end_s) loop.run_until([&] { return gone; }, kStopPollSeconds);
    answers.stopped = !gone && stopped();
    answers.output = worker->error_output();
  }
  if (answers.stopped) {  // it does not matter any more what the tool would have said
    worker.reset();
    loop.run_until([&] { return false; }, kStopPollSeconds);
  }
  return answers;
}

ToolFolder::ToolFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "tunebook-tool-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) {
    throw EnvironmentError(fmt::format("cannot make a folder {}: {}", pattern, std::strerror(errno)));
  }
  path_ = pattern;
}

ToolFolder::~ToolFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string ToolFolder::read(const std::string& name) const {
  std::ifstream stream(file(name), std::ios::binary);
  std::string text;
  char buffer[65536];
  while (text.size() < kMostBytes && (stream.read(buffer, sizeof buffer) || stream.gcount() > 0)) {
    text.append(buffer, static_cast<std::size_t>(stream.gcount()));
  }
  return text;
}

}  // namespace tunebook
