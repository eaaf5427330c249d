#pragma once

#include <functional>
#include <string>
#include <vector>

#include "session/event_loop.h"
#include "session/worker_process.h"
#include "worker/message.h"

namespace tunebook {

// Requests for one runner process that works under a tool (or with a tool's runtime within it).
struct ToolJob {
  WorkerCommand worker;              // with the tool as its wrapper
  SetupRequest setup;
  std::vector<RunRequest> requests;  // one after the other
  double start_s = kWorkerStartSeconds;
  double step_s = 60;                // until the next stage or the answer
  std::function<bool()> stop;        // may be empty; asked several times a second
};

struct ToolAnswers {
  std::vector<RunReply> replies;     // of the first requests; ends with the first that is not ok
  // Not empty: the process was lost, or could not be used. Then requests without a reply have not been answered.
  std::string lost;
  Outcome lost_outcome = Outcome::ok;  // run_timeout or worker_lost, if it was lost
  bool stopped = false;
  std::string output;                // the end of what it and the tool printed
};

// Starts the process, sends the requests, and waits until it and its tool have ended.
ToolAnswers run_under_tool(EventLoop& loop, const ToolJob& job);

// A private temporary folder for what a tool writes; goes with this object.
class ToolFolder {
 public:
  ToolFolder();  // throws EnvironmentError
  ~ToolFolder();
  ToolFolder(const ToolFolder&) = delete;
  ToolFolder& operator=(const ToolFolder&) = delete;
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  // The content of a file in it; empty if there is none. At most `kMostBytes`: a tool may write without end.
  std::string read(const std::string& name) const;

 private:
  static constexpr std::size_t kMostBytes = std::size_t{16} << 20;
  std::string path_;
};

}  // namespace tunebook
