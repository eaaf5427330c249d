#include "session/worker_process.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <unistd.h>

#include <fmt/format.h>

#include "session/deadline.h"
#include "session/event_loop_impl.h"
#include "session/host_resources.h"
#include "worker/channel.h"

extern char** environ;

namespace tunebook {
namespace {

constexpr int kChannelFd = 3;
constexpr std::size_t kErrorOutputBytes = std::size_t{16} << 10;
// After its death, what it wrote last is still read; only a grandchild that holds the pipes open makes this wait needed.
constexpr double kDrainSeconds = 0.2;
// A killed process is gone at once unless it hangs in a driver. Then the session goes on without waiting for it.
constexpr double kKillSeconds = 2;
constexpr double kShutDownSeconds = 1;
// A dying process closes its channel before it is gone; releasing a GPU takes a while.
constexpr double kClosedSeconds = 2;
// A busy worker is looked at so often; found stopped twice in a row, it was stopped from outside and does not go on by itself. Once
// is not enough: when a whole session was stopped and goes on, the coordinator may be awake before its workers are.
constexpr double kStoppedLookSeconds = 2;
constexpr std::size_t kQuotedOutputBytes = std::size_t{2} << 10;
constexpr int kNvrtcThreads = 2;
constexpr std::string_view kCudaWorker = "tunebook-cuda-worker";  // not there in a build without a toolkit
constexpr std::size_t kReadBytes = std::size_t{64} << 10;

void kill_group(int pid, int signal) {
  if (pid > 0) ::kill(-pid, signal);
}

// Whether the process is stopped by a signal (not by a debugger), as /proc tells.
bool is_stopped(int pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string line;
  std::getline(file, line);
  const std::size_t name_end = line.rfind(") ");  // the name before may hold anything
  return name_end != std::string::npos && line.size() > name_end + 2 && line[name_end + 2] == 'T';
}

// The last bytes of a stream.
class TailBuffer {
 public:
  void append(std::string_view bytes) {
    text_.append(bytes.substr(bytes.size() - std::min(bytes.size(), kErrorOutputBytes)));
    // Trimmed at twice the size, so that endless output costs one move per 16 KiB.
    if (text_.size() > 2 * kErrorOutputBytes) text_.erase(0, text_.size() - kErrorOutputBytes);
  }
  std::string text() const { return text_.substr(text_.size() - std::min(text_.size(), kErrorOutputBytes)); }

 private:
  std::string text_;
};

// The request's frame, owned until libuv has written it.
struct WriteRequest {
  uv_write_t request{};
  std::vector<std::uint8_t> frame;
};

std::vector<std::string> command_line(const WorkerCommand& command) {
  std::vector<std::string> line = command.wrapper;
  line.insert(line.end(), {command.program, "--role", command.role == WorkerRole::runner ? "runner" : "compiler",
                           "--fd", std::to_string(kChannelFd)});
  if (!command.device.empty()) line.insert(line.end(), {"--device", command.device});
  if (command.address_space_mib > 0) {
    line.insert(line.end(), {"--address-space-mib", std::to_string(command.address_space_mib)});
  }
  if (command.max_in_flight > 1) line.insert(line.end(), {"--threads", std::to_string(command.max_in_flight)});
  line.insert(line.end(), command.arguments.begin(), command.arguments.end());
  return line;
}

std::vector<std::string> merged_environment(const WorkerCommand& command) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const auto replaced = [&](const auto& addition) { return text.substr(0, text.find('=')) == addition.first; };
    if (std::none_of(command.environment.begin(), command.environment.end(), replaced)) result.emplace_back(text);
  }
  for (const auto& [name, value] : command.environment) result.push_back(name + "=" + value);
  return result;
}

std::vector<char*> as_argv(std::vector<std::string>& words) {
  std::vector<char*> result;
  for (std::string& word : words) result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

std::int64_t request_id(const Request& request) {
  return std::visit([](const auto& any) { return any.id; }, request);
}

// Of an answer or a stage; nothing for Hello.
std::optional<std::int64_t> reply_id(const Reply& reply) {
  return std::visit(
      [](const auto& any) -> std::optional<std::int64_t> {
        if constexpr (requires { any.id; }) return any.id;
        return std::nullopt;
      },
      reply);
}

// Whether `reply` is of the type that a request (by its index in the variant) asks for.
bool answers(const Reply& reply, std::size_t request_index) {
  static_assert(std::variant_size_v<Request> == 5 && std::is_same_v<std::variant_alternative_t<1, Reply>, CompileReply>);
  return reply.index() == request_index + 1;  // Hello comes first in Reply, then the answers in order
}

}  // namespace

std::string worker_program(const std::string& kind) {
  const std::string name = "tunebook-" + kind + "-worker";
  if (const char* folder = std::getenv("TUNEBOOK_WORKER_DIR"); folder != nullptr && *folder != '\0') {
    return (std::filesystem::path(folder) / name).string();
  }
  std::error_code error;
  const std::filesystem::path own_folder = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  const std::filesystem::path beside = own_folder / name;
  const std::filesystem::path installed = own_folder.parent_path() / "libexec" / "tunebook" / name;
  if (!std::filesystem::exists(beside, error) && std::filesystem::exists(installed, error)) return installed.string();
  return beside.string();
}

int max_compile_threads(const std::string& kind) { return kind == "cuda" ? kNvrtcThreads : 1; }

std::string LostReason::describe() const {
  switch (kind) {
    case Kind::deadline:
      return stage.empty() ? fmt::format("did not answer within {:g} s", deadline_s)
                           : fmt::format("did not finish the step \"{}\" within {:g} s", stage, deadline_s);
    case Kind::exited: return fmt::format("ended with exit code {}", code);
    case Kind::signalled:
      return fmt::format("was killed by signal {} ({}){}", code, ::strsignal(code),
                         out_of_memory ? ", by the kernel's out-of-memory killer as it seems" : "");
    case Kind::protocol_error: return fmt::format("sent something malformed ({})", text);
    case Kind::could_not_start: return text;
    case Kind::closed: return "closed its channel";
    case Kind::stopped: return "was stopped by a signal from outside and did not go on";
  }
  return "is lost";
}

std::string LostReason::with_output(std::string message) const {
  std::string_view output = error_output;
  while (!output.empty() && (output.back() == '\n' || output.back() == ' ')) output.remove_suffix(1);
  if (output.empty()) return message;
  const bool cut = output.size() > kQuotedOutputBytes;
  if (cut) output.remove_prefix(output.size() - kQuotedOutputBytes);
  return fmt::format("{}:\n{}{}", message, cut ? "..." : "", output);
}

// Outlives the WorkerProcess until libuv has closed its handles and the child is reaped; keeps itself alive meanwhile.
struct WorkerProcess::State : std::enable_shared_from_this<WorkerProcess::State> {
  State(EventLoop& event_loop, WorkerCallbacks worker_callbacks, const WorkerCommand& command)
      : owner_loop(event_loop),
        loop(event_loop.impl()),
        callbacks(std::move(worker_callbacks)),
        role(command.role),
        max_in_flight(static_cast<std::size_t>(std::max(command.max_in_flight, 1))),
        closed_s(std::max(kClosedSeconds, command.wrapper_end_s)),
        shut_down_s(std::max(kShutDownSeconds, command.wrapper_end_s)),
        start_deadline(event_loop, [this] { start_expired(); }),
        stopped_look(event_loop, [this] { look_whether_stopped(); }),
        end_timer(event_loop, [this] { end_timer_expired(); }) {}

  EventLoop& owner_loop;
  EventLoop::Impl& loop;
  WorkerCallbacks callbacks;
  WorkerRole role;
  std::size_t max_in_flight;
  double closed_s;     // as kClosedSeconds, kShutDownSeconds; longer under a tool
  double shut_down_s;
  uv_process_t process{};
  uv_pipe_t channel{};
  uv_pipe_t errors{};
  int open_handles = 0;
  std::shared_ptr<State> self;
  std::array<char, kReadBytes> read_buffer{};

  int pid = -1;
  bool exited = false;
  std::int64_t exit_code = 0;
  int exit_signal = 0;
  bool channel_ended = false;
  bool errors_ended = false;
  bool channel_closing = false;
  bool finished = false;   // all handles are closing
  bool abandoned = false;  // by the owner: no more callbacks but on_shut_down
  bool reported = false;
  std::optional<LostReason> reason;  // set when it is given up; an exit by itself comes later
  std::function<void()> on_shut_down;

  FrameReader reader;
  TailBuffer error_output;
  bool said_hello = false;
  struct InFlight {
    std::size_t request_index = 0;
    std::string stage;
    std::unique_ptr<Deadline> deadline;
  };
  std::map<std::int64_t, InFlight> in_flight;  // by the request's id
  std::int64_t last_sent = 0;
  Deadline start_deadline;
  bool suspended = false;
  Timer stopped_look;
  bool found_stopped = false;  // at the last look
  std::optional<std::int64_t> oom_kills_before;
  Timer end_timer;

  void start(const WorkerCommand& command, double start_seconds);
  void open_pipe(uv_pipe_t& pipe);
  void read_from(uv_pipe_t& pipe);
  void read_done(uv_pipe_t& pipe, std::span<const char> bytes, bool ended);
  void take_messages();
  void take_message(const nlohmann::json& message);
  void look_whether_stopped();
  void deadline_over(double seconds, std::string stage, std::optional<std::int64_t> request);
  void start_expired();
  void request_expired(std::int64_t id);
  void stop_deadlines();
  // Calls `action` with each deadline.
  template <typename Action>
  void each_deadline(Action action) {
    action(start_deadline);
    for (auto& [id, request] : in_flight) action(*request.deadline);
  }
  std::string last_stage() const;
  void end_timer_expired();
  void give_up(LostReason reason_given);
  void child_exited(std::int64_t code, int signal);
  void report();
  void finish();
  void close(uv_handle_t* handle);
  bool lost() const { return exited || reason || abandoned || reported; }
};

void WorkerProcess::State::open_pipe(uv_pipe_t& pipe) {
  check_uv(uv_pipe_init(&loop.loop, &pipe, 0), "cannot create a pipe");
  pipe.data = this;
  ++open_handles;
}

void WorkerProcess::State::start(const WorkerCommand& command, double start_seconds) {
  open_pipe(channel);
  open_pipe(errors);
  self = shared_from_this();

  std::vector<std::string> line = command_line(command);
  std::vector<std::string> environment = merged_environment(command);
  std::vector<char*> argv = as_argv(line);
  std::vector<char*> envp = as_argv(environment);
  std::array<uv_stdio_container_t, kChannelFd + 1> stdio{};
  stdio[0].flags = UV_IGNORE;  // libuv opens /dev/null for the standard ones
  stdio[1].flags = UV_IGNORE;
  stdio[2].flags = static_cast<uv_stdio_flags>(UV_CREATE_PIPE | UV_WRITABLE_PIPE);
  stdio[2].data.stream = reinterpret_cast<uv_stream_t*>(&errors);
  stdio[kChannelFd].flags = static_cast<uv_stdio_flags>(UV_CREATE_PIPE | UV_READABLE_PIPE | UV_WRITABLE_PIPE);
  stdio[kChannelFd].data.stream = reinterpret_cast<uv_stream_t*>(&channel);

  uv_process_options_t options{};
  options.file = argv[0];
  options.args = argv.data();
  options.env = envp.data();
  options.stdio = stdio.data();
  options.stdio_count = static_cast<int>(stdio.size());
  // A session of its own: one signal reaches the worker and the compilers it starts, and Ctrl-C does not reach it.
  options.flags = UV_PROCESS_DETACHED;
  options.exit_cb = [](uv_process_t* handle, std::int64_t code, int signal) {
    auto* state = static_cast<State*>(handle->data);
    state->loop.guard([&] { state->child_exited(code, signal); });
  };

  process.data = this;
  const int status = uv_spawn(&loop.loop, &process, &options);
  ++open_handles;  // also after a failure the handle has to be closed
  if (status < 0) {
    const bool no_cuda = status == UV_ENOENT && command.program.ends_with(kCudaWorker);
    reason = LostReason{LostReason::Kind::could_not_start, 0,
                        no_cuda ? fmt::format("there is no {}: Tunebook was built without CUDA. Install a CUDA toolkit (12.8 or newer) and "
                                              "build again, or name the folder of the worker programs in TUNEBOOK_WORKER_DIR",
                                              command.program)
                                : fmt::format("cannot start {}: {}. Is Tunebook installed whole? TUNEBOOK_WORKER_DIR can name the "
                                              "folder of the worker programs",
                                              command.program, uv_strerror(status))};
    exited = true;
    end_timer.start(0);  // reported from the loop, not from the constructor
    return;
  }
  pid = process.pid;
  oom_kills_before = out_of_memory_kills();
  read_from(channel);
  read_from(errors);
  start_deadline.start(start_seconds);
  stopped_look.start(kStoppedLookSeconds, kStoppedLookSeconds);
}

void WorkerProcess::State::read_from(uv_pipe_t& pipe) {
  uv_read_start(
      reinterpret_cast<uv_stream_t*>(&pipe),
      [](uv_handle_t* handle, std::size_t, uv_buf_t* buffer) {
        auto* state = static_cast<State*>(handle->data);
        *buffer = uv_buf_init(state->read_buffer.data(), static_cast<unsigned>(state->read_buffer.size()));
      },
      [](uv_stream_t* stream, ssize_t count, const uv_buf_t* buffer) {
        auto* state = static_cast<State*>(stream->data);
        auto& from = *reinterpret_cast<uv_pipe_t*>(stream);
        const std::span<const char> bytes(buffer->base, count > 0 ? static_cast<std::size_t>(count) : 0);
        state->loop.guard([&] { state->read_done(from, bytes, count < 0); });
      });
}

void WorkerProcess::State::read_done(uv_pipe_t& pipe, std::span<const char> bytes, bool ended) {
  if (ended) uv_read_stop(reinterpret_cast<uv_stream_t*>(&pipe));
  if (&pipe == &errors) {
    error_output.append({bytes.data(), bytes.size()});
    errors_ended = errors_ended || ended;
  } else {
    channel_ended = channel_ended || ended;
    if (!reason && !abandoned) {
      reader.append({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
      take_messages();
    }
    // Mostly it has ended, too, and the news of that is on its way.
    if (ended && !exited && !reason && !abandoned && !finished) end_timer.start(closed_s);
  }
  if (exited && channel_ended && errors_ended) finish();
}

void WorkerProcess::State::take_messages() {
  try {
    while (!reason && !abandoned) {
      const auto message = reader.next();
      if (!message) return;
      take_message(*message);
    }
  } catch (const ProtocolError& error) {
    give_up({LostReason::Kind::protocol_error, 0, error.what(), 0, last_stage(), "", std::nullopt});
  }
}

// Callbacks are called last: they may destroy the owner and with it everything but this state.
void WorkerProcess::State::take_message(const nlohmann::json& message) {
  Reply reply = decode_reply(message);
  if (const auto* hello = std::get_if<Hello>(&reply)) {
    if (said_hello) throw ProtocolError("it said Hello twice");
    if (hello->role != role) throw ProtocolError("it has another role than it was started for");
    said_hello = true;
    start_deadline.stop();
    if (callbacks.on_hello) callbacks.on_hello(*hello);
    return;
  }
  if (in_flight.empty()) throw ProtocolError("it answered without having been asked");
  const auto request = in_flight.find(reply_id(reply).value_or(0));
  if (const auto* reported_stage = std::get_if<Stage>(&reply)) {
    if (request == in_flight.end()) throw ProtocolError("it reported a stage of another request");
    request->second.stage = reported_stage->what;
    request->second.deadline->restart();
    return;
  }
  if (request == in_flight.end() || !answers(reply, request->second.request_index)) {
    throw ProtocolError("it answered something that was not asked");
  }
  in_flight.erase(request);
  if (callbacks.on_reply) callbacks.on_reply(std::move(reply));
}

void WorkerProcess::State::look_whether_stopped() {
  const bool working = !said_hello || !in_flight.empty();
  const bool stopped = working && !suspended && !lost() && is_stopped(pid);
  if (!stopped || !std::exchange(found_stopped, true)) {
    found_stopped = stopped;
    return;
  }
  give_up({LostReason::Kind::stopped, 0, "", 0, last_stage(), "", std::nullopt});
}

void WorkerProcess::State::deadline_over(double seconds, std::string stage, std::optional<std::int64_t> request) {
  const bool stopped = is_stopped(pid);  // then it is not its work that takes too long
  give_up({stopped ? LostReason::Kind::stopped : LostReason::Kind::deadline, 0, "", seconds, std::move(stage), "", request});
}

void WorkerProcess::State::start_expired() { deadline_over(start_deadline.seconds(), last_stage(), std::nullopt); }

void WorkerProcess::State::request_expired(std::int64_t id) {
  const InFlight& request = in_flight.at(id);
  deadline_over(request.deadline->seconds(), request.stage, id);
}

void WorkerProcess::State::stop_deadlines() {
  stopped_look.stop();
  each_deadline([](Deadline& deadline) { deadline.stop(); });
}

std::string WorkerProcess::State::last_stage() const {
  if (!said_hello) return "start";
  return in_flight.size() == 1 ? in_flight.begin()->second.stage : "";
}

void WorkerProcess::State::give_up(LostReason reason_given) {
  if (reason || finished) return;
  reason = std::move(reason_given);
  stop_deadlines();
  kill_group(pid, SIGKILL);
  end_timer.start(exited ? kDrainSeconds : kKillSeconds);
}

void WorkerProcess::State::child_exited(std::int64_t code, int signal) {
  exited = true;
  exit_code = code;
  exit_signal = signal;
  stop_deadlines();
  kill_group(pid, SIGKILL);  // compilers that it had started
  if (channel_ended && errors_ended) {
    finish();
  } else if (!finished) {
    end_timer.start(kDrainSeconds);
  }
}

void WorkerProcess::State::end_timer_expired() {
  if (exited) {
    finish();
  } else if (abandoned) {
    kill_group(pid, SIGKILL);  // shut_down was not heard
  } else if (!reason) {
    give_up({LostReason::Kind::closed, 0, "", 0, last_stage(), "", std::nullopt});
  } else {
    report();  // killed, but not gone yet: it is reaped whenever it is
  }
}

void WorkerProcess::State::finish() {
  if (finished) return;
  finished = true;
  stop_deadlines();
  end_timer.stop();
  close(as_handle(&process));
  close(as_handle(&channel));
  close(as_handle(&errors));
  report();
}

void WorkerProcess::State::report() {
  if (reported) return;
  reported = true;
  const std::string stage = last_stage();
  in_flight.clear();
  if (abandoned) {
    if (on_shut_down) on_shut_down();
    return;
  }
  if (!reason) {
    const bool killed = exit_signal != 0;
    reason = LostReason{killed ? LostReason::Kind::signalled : LostReason::Kind::exited,
                        killed ? exit_signal : static_cast<int>(exit_code), "", 0, stage, "", std::nullopt};
    const auto oom_kills = out_of_memory_kills();
    reason->out_of_memory = exit_signal == SIGKILL && oom_kills && oom_kills_before && *oom_kills > *oom_kills_before;
  }
  reason->error_output = error_output.text();
  if (callbacks.on_lost) {
    const LostReason final_reason = *reason;
    callbacks.on_lost(final_reason);
  }
}

void WorkerProcess::State::close(uv_handle_t* handle) {
  if (uv_is_closing(handle) != 0) return;
  uv_close(handle, [](uv_handle_t* closed) {
    auto* state = static_cast<State*>(closed->data);
    if (--state->open_handles == 0) state->self.reset();
  });
}

WorkerProcess::WorkerProcess(EventLoop& loop, const WorkerCommand& command, WorkerCallbacks callbacks,
                             double start_seconds)
    : state_(std::make_shared<State>(loop, std::move(callbacks), command)) {
  state_->start(command, start_seconds);
}

WorkerProcess::~WorkerProcess() {
  State& state = *state_;
  const bool shutting_down = state.abandoned;
  state.abandoned = true;
  state.on_shut_down = nullptr;
  state.stop_deadlines();
  if (!shutting_down && !state.exited) kill_group(state.pid, SIGKILL);
}

void WorkerProcess::send(const Request& request) {
  State& state = *state_;
  if (!state.said_hello) throw std::logic_error("a request was sent to a worker that is not ready");
  const std::int64_t id = request_id(request);
  if (state.in_flight.size() >= state.max_in_flight || state.in_flight.contains(id)) {
    throw std::logic_error("a request was sent to a worker that is busy");
  }
  if (state.lost()) return;
  auto* write = new WriteRequest;
  write->frame = encode_frame(encode(request));
  write->request.data = write;
  auto deadline = std::make_unique<Deadline>(state.owner_loop, [&state, id] { state.request_expired(id); });
  if (state.suspended) deadline->hold_still();
  state.in_flight.emplace(id, State::InFlight{request.index(), "", std::move(deadline)});
  state.last_sent = id;
  const uv_buf_t buffer =
      uv_buf_init(reinterpret_cast<char*>(write->frame.data()), static_cast<unsigned>(write->frame.size()));
  // A failure to write means that the worker is gone, which is reported when its end is seen.
  const auto written = [](uv_write_t* done, int) { delete static_cast<WriteRequest*>(done->data); };
  if (uv_write(&write->request, reinterpret_cast<uv_stream_t*>(&state.channel), &buffer, 1, written) != 0) delete write;
}

void WorkerProcess::arm_deadline(double seconds) {
  const auto request = state_->in_flight.find(state_->last_sent);
  if (request != state_->in_flight.end() && !state_->lost()) request->second.deadline->start(seconds);
}

bool WorkerProcess::ready() const {
  return state_->said_hello && state_->in_flight.size() < state_->max_in_flight && !state_->lost();
}
bool WorkerProcess::busy() const { return !state_->in_flight.empty(); }
int WorkerProcess::pid() const { return state_->pid; }
std::string WorkerProcess::error_output() const { return state_->error_output.text(); }

std::string WorkerProcess::stage() const {
  const auto request = state_->in_flight.find(state_->last_sent);
  return request != state_->in_flight.end() ? request->second.stage : state_->last_stage();
}

void WorkerProcess::suspend() {
  State& state = *state_;
  if (state.suspended || state.lost()) return;
  state.suspended = true;
  state.each_deadline([](Deadline& deadline) { deadline.hold_still(); });
  kill_group(state.pid, SIGSTOP);
}

void WorkerProcess::resume() {
  State& state = *state_;
  if (!std::exchange(state.suspended, false) || state.exited) return;
  kill_group(state.pid, SIGCONT);
  state.each_deadline([](Deadline& deadline) { deadline.go_on(); });
}

void WorkerProcess::shut_down(std::function<void()> done) {
  State& state = *state_;
  resume();
  state.abandoned = true;
  state.on_shut_down = std::move(done);
  state.stop_deadlines();
  if (state.finished) {  // it was lost before: `done` comes all the same
    state.owner_loop.post([weak = std::weak_ptr(state_)] {
      const auto ended = weak.lock();
      if (ended && ended->on_shut_down) ended->on_shut_down();
    });
    return;
  }
  state.close(as_handle(&state.channel));
  state.channel_ended = true;
  if (!state.exited) state.end_timer.start(state.shut_down_s);
}

}  // namespace tunebook
