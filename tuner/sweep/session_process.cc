#include "sweep/session_process.h"

#include <array>
#include <csignal>
#include <cstddef>
#include <optional>
#include <string_view>

#include <unistd.h>

#include "session/event_loop_impl.h"

extern char** environ;

namespace tunebook {
namespace {

constexpr int kProgressFd = 3;
constexpr std::size_t kReadBytes = std::size_t{16} << 10;
constexpr std::size_t kErrorOutputBytes = std::size_t{8} << 10;
// A result is a few KiB; a process that prints without end is not a session.
constexpr std::size_t kMostOutput = std::size_t{64} << 20;
// After its death, what it wrote last is still read; only a grandchild that holds the pipes open makes this wait needed.
constexpr double kDrainSeconds = 0.5;

std::vector<char*> as_argv(std::vector<std::string>& words) {
  std::vector<char*> result;
  for (std::string& word : words) result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

std::vector<std::string> merged_environment(const std::vector<std::pair<std::string, std::string>>& additions) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    bool replaced = false;
    for (const auto& [name, value] : additions) replaced = replaced || text.substr(0, text.find('=')) == name;
    if (!replaced) result.emplace_back(text);
  }
  for (const auto& [name, value] : additions) result.push_back(name + "=" + value);
  return result;
}

}  // namespace

// Outlives the SessionProcess until libuv has closed its handles; keeps itself alive meanwhile.
struct SessionProcess::State : std::enable_shared_from_this<SessionProcess::State> {
  State(EventLoop& event_loop, Callbacks session_callbacks)
      : loop(event_loop.impl()), callbacks(std::move(session_callbacks)), drain(event_loop, [this] { report(); }) {}

  struct Pipe {
    uv_pipe_t handle{};
    State* state = nullptr;
    std::string text;
    bool ended = true;
  };

  EventLoop::Impl& loop;
  Callbacks callbacks;
  Timer drain;
  uv_process_t process{};
  Pipe out, errors, progress;
  std::array<char, kReadBytes> buffer{};
  int open_handles = 0;
  std::shared_ptr<State> self;
  int pid = -1;
  bool exited = false;
  bool abandoned = false;
  bool reported = false;
  SessionExit result;

  void start(std::vector<std::string> command, const std::vector<std::pair<std::string, std::string>>& environment);
  void open(Pipe& pipe);
  void read_from(Pipe& pipe);
  void take(Pipe& pipe, std::string_view bytes);
  void take_progress();
  void finish_if_over();
  void report();
  void close_all();
  void close_handle(uv_handle_t* handle);
};

void SessionProcess::State::start(std::vector<std::string> command, const std::vector<std::pair<std::string, std::string>>& environment) {
  command.insert(command.end(), {"--progress-fd", std::to_string(kProgressFd)});
  std::vector<std::string> variables = merged_environment(environment);
  std::vector<char*> argv = as_argv(command), env = as_argv(variables);
  for (Pipe* pipe : {&out, &errors, &progress}) open(*pipe);

  std::array<uv_stdio_container_t, kProgressFd + 1> stdio{};
  stdio[0].flags = UV_IGNORE;
  const std::array<Pipe*, 3> pipes = {&out, &errors, &progress};
  for (std::size_t i = 0; i < pipes.size(); ++i) {
    stdio[i + 1].flags = static_cast<uv_stdio_flags>(UV_CREATE_PIPE | UV_WRITABLE_PIPE);
    stdio[i + 1].data.stream = reinterpret_cast<uv_stream_t*>(&pipes[i]->handle);
  }
  uv_process_options_t options{};
  options.file = command.front().c_str();
  options.args = argv.data();
  options.env = env.data();
  options.flags = UV_PROCESS_DETACHED;
  options.stdio_count = static_cast<int>(stdio.size());
  options.stdio = stdio.data();
  options.exit_cb = [](uv_process_t* handle, std::int64_t code, int signal) {
    auto* state = static_cast<State*>(handle->data);
    state->exited = true;
    state->result.code = signal == 0 ? static_cast<int>(code) : -1;
    state->result.signal = signal;
    state->drain.start(kDrainSeconds);
    state->finish_if_over();
  };
  process.data = this;
  self = shared_from_this();
  ++open_handles;
  const int status = uv_spawn(&loop.loop, &process, &options);
  if (status != 0) {
    result.start_error = command.front() + ": " + uv_strerror(status);
    drain.start(0);  // from the loop, as every end
    return;
  }
  pid = process.pid;
  for (Pipe* pipe : pipes) read_from(*pipe);
}

void SessionProcess::State::open(Pipe& pipe) {
  check_uv(uv_pipe_init(&loop.loop, &pipe.handle, 0), "cannot make a pipe");
  pipe.handle.data = &pipe;
  pipe.state = this;
  ++open_handles;
}

void SessionProcess::State::read_from(Pipe& pipe) {
  pipe.ended = false;
  uv_read_start(
      reinterpret_cast<uv_stream_t*>(&pipe.handle),
      [](uv_handle_t* handle, std::size_t, uv_buf_t* target) {
        auto& bytes = static_cast<Pipe*>(handle->data)->state->buffer;
        *target = uv_buf_init(bytes.data(), static_cast<unsigned>(bytes.size()));
      },
      [](uv_stream_t* stream, ssize_t count, const uv_buf_t* bytes) {
        auto* pipe_read = static_cast<Pipe*>(stream->data);
        if (count > 0) {
          pipe_read->state->take(*pipe_read, std::string_view(bytes->base, static_cast<std::size_t>(count)));
        } else if (count < 0) {
          uv_read_stop(stream);
          pipe_read->ended = true;
          pipe_read->state->finish_if_over();
        }
      });
}

void SessionProcess::State::take(Pipe& pipe, std::string_view bytes) {
  pipe.text += bytes;
  if (&pipe == &progress) {
    take_progress();
  } else if (&pipe == &errors && pipe.text.size() > 2 * kErrorOutputBytes) {
    pipe.text.erase(0, pipe.text.size() - kErrorOutputBytes);
  } else if (pipe.text.size() > kMostOutput) {
    pipe.text.resize(kMostOutput);
  }
}

void SessionProcess::State::take_progress() {
  for (std::size_t end = progress.text.find('\n'); end != std::string::npos; end = progress.text.find('\n')) {
    const auto line = nlohmann::json::parse(progress.text.substr(0, end), nullptr, false);
    progress.text.erase(0, end + 1);
    if (!line.is_object()) continue;
    if (const auto stage = line.find("stage"); stage != line.end() && stage->is_string()) result.stage = stage->get<std::string>();
    if (!abandoned && callbacks.on_progress) loop.guard([&] { callbacks.on_progress(line); });
  }
  if (progress.text.size() > kMostOutput) progress.text.clear();
}

void SessionProcess::State::finish_if_over() {
  if (exited && out.ended && errors.ended && progress.ended) report();
}

void SessionProcess::State::report() {
  if (std::exchange(reported, true)) return;
  drain.stop();
  result.out = std::move(out.text);
  result.error_output = std::move(errors.text);
  if (result.error_output.size() > kErrorOutputBytes) result.error_output.erase(0, result.error_output.size() - kErrorOutputBytes);
  close_all();
  if (!abandoned && callbacks.on_exit) loop.guard([this, keep = self] { callbacks.on_exit(std::move(result)); });
}

void SessionProcess::State::close_all() {
  for (Pipe* pipe : {&out, &errors, &progress}) close_handle(as_handle(&pipe->handle));
  process.data = this;
  close_handle(as_handle(&process));
}

void SessionProcess::State::close_handle(uv_handle_t* handle) {
  if (handle != as_handle(&process)) handle->data = this;
  uv_close(handle, [](uv_handle_t* closed) {
    auto* state = static_cast<State*>(closed->data);
    if (--state->open_handles == 0) state->self.reset();
  });
}

SessionProcess::SessionProcess(EventLoop& loop, std::vector<std::string> command,
                               const std::vector<std::pair<std::string, std::string>>& environment, Callbacks callbacks)
    : state_(std::make_shared<State>(loop, std::move(callbacks))) {
  state_->start(std::move(command), environment);
}

SessionProcess::~SessionProcess() {
  state_->abandoned = true;
  if (!state_->exited) kill();
}

int SessionProcess::pid() const { return state_->pid; }

void SessionProcess::stop() {
  if (state_->pid > 0 && !state_->exited) ::kill(state_->pid, SIGTERM);
}

void SessionProcess::kill() {
  if (state_->pid > 0 && !state_->exited) ::kill(-state_->pid, SIGKILL);
}

}  // namespace tunebook
