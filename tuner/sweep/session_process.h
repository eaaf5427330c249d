#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "session/event_loop.h"

namespace tunebook {

// How a session's process ended.
struct SessionExit {
  int code = -1;              // -1: by a signal, or it did not start
  int signal = 0;
  std::string start_error;    // why it did not start
  std::string out;            // all that it wrote to stdout
  std::string error_output;   // the end of what it wrote to stderr
  std::string stage;          // the last one that it reported (--progress-fd)
};

// A child process that runs one session, in a process group (session) of its own: a terminal's Ctrl-C does not reach it, stop() does. It
// is killed when this object is destroyed, and dies with this process.
class SessionProcess {
 public:
  struct Callbacks {  // from the loop
    std::function<void(const nlohmann::json&)> on_progress;  // a line of --progress-fd
    std::function<void(SessionExit)> on_exit;                // once; may destroy the SessionProcess
  };

  // `command`: program and arguments; --progress-fd is added. `environment`: in addition to ours.
  SessionProcess(EventLoop& loop, std::vector<std::string> command, const std::vector<std::pair<std::string, std::string>>& environment,
                 Callbacks callbacks);
  ~SessionProcess();
  SessionProcess(const SessionProcess&) = delete;
  SessionProcess& operator=(const SessionProcess&) = delete;

  int pid() const;   // -1 if it did not start
  void stop();       // asks it to end and to keep what it has
  void kill();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace tunebook
