#include "worker/channel.h"

#include <cerrno>
#include <cstring>
#include <system_error>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/error.h"

namespace tunebook {
namespace {

constexpr std::size_t kHeaderBytes = 4;
constexpr std::size_t kReadBytes = std::size_t{64} << 10;
// The MessagePack reader recurses once per level: without a bound, a frame of a megabyte of "array of one" would overflow the
// stack. Our own messages are 6 levels deep; Hello::environment is free-form.
constexpr std::size_t kMaxDepth = 64;

// Walks a message without building it, to reject one that is nested too deeply.
class DepthCheck : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool key(string_t&) override { return true; }
  bool start_object(std::size_t) override { return ++depth_ <= kMaxDepth; }
  bool end_object() override { return leave(); }
  bool start_array(std::size_t) override { return ++depth_ <= kMaxDepth; }
  bool end_array() override { return leave(); }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception& error) override {
    throw ProtocolError(fmt::format("a message is not MessagePack: {}", error.what()));
  }

 private:
  bool leave() {
    --depth_;
    return true;
  }
  std::size_t depth_ = 0;
};

nlohmann::json parse_message(const std::uint8_t* begin, const std::uint8_t* end) {
  DepthCheck check;
  if (!nlohmann::json::sax_parse(begin, end, &check, nlohmann::json::input_format_t::msgpack)) {
    throw ProtocolError(fmt::format("a message is nested more than {} levels deep", kMaxDepth));
  }
  try {
    return nlohmann::json::from_msgpack(begin, end);
  } catch (const nlohmann::json::exception& error) {
    throw ProtocolError(fmt::format("a message is not MessagePack: {}", error.what()));
  }
}

// The descriptor may have been made non-blocking by whoever created it.
void wait_until_ready(int fd, short events) {
  pollfd entry{fd, events, 0};
  while (::poll(&entry, 1, -1) < 0 && errno == EINTR) {
  }
}

}  // namespace

std::vector<std::uint8_t> encode_frame(const nlohmann::json& message) {
  std::vector<std::uint8_t> frame(kHeaderBytes);
  nlohmann::json::to_msgpack(message, frame);
  const std::size_t length = frame.size() - kHeaderBytes;
  if (length > kMaxFrameBytes) {
    throw ProtocolError(fmt::format("a message of {} bytes is longer than the limit of {}", length, kMaxFrameBytes));
  }
  for (std::size_t i = 0; i < kHeaderBytes; ++i) frame[i] = static_cast<std::uint8_t>(length >> (8 * i));
  return frame;
}

void FrameReader::append(std::span<const std::uint8_t> bytes) {
  // What was given out already is dropped here, not in next(): one move per read instead of one per message.
  buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(start_));
  start_ = 0;
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
}

std::optional<nlohmann::json> FrameReader::next() {
  const std::size_t available = buffer_.size() - start_;
  if (available < kHeaderBytes) return std::nullopt;
  const std::uint8_t* frame = buffer_.data() + start_;
  std::size_t length = 0;
  for (std::size_t i = 0; i < kHeaderBytes; ++i) length |= std::size_t{frame[i]} << (8 * i);
  if (length > kMaxFrameBytes) {
    throw ProtocolError(fmt::format("a message announces {} bytes, the limit is {}", length, kMaxFrameBytes));
  }
  if (available - kHeaderBytes < length) return std::nullopt;
  start_ += kHeaderBytes + length;
  return parse_message(frame + kHeaderBytes, frame + kHeaderBytes + length);
}

std::optional<nlohmann::json> read_message(int fd, FrameReader& reader) {
  std::vector<std::uint8_t> bytes(kReadBytes);
  for (;;) {
    if (auto message = reader.next()) return message;
    const ssize_t count = ::read(fd, bytes.data(), bytes.size());
    if (count > 0) {
      reader.append({bytes.data(), static_cast<std::size_t>(count)});
    } else if (count == 0 || errno == ECONNRESET) {
      return std::nullopt;  // a frame cut short by the end is of no use to anybody either
    } else if (errno == EAGAIN) {
      wait_until_ready(fd, POLLIN);
    } else if (errno != EINTR) {
      throw EnvironmentError(fmt::format("reading from the channel failed: {}", std::generic_category().message(errno)));
    }
  }
}

void write_message(int fd, const nlohmann::json& message) {
  const std::vector<std::uint8_t> frame = encode_frame(message);
  std::size_t written = 0;
  while (written < frame.size()) {
    // MSG_NOSIGNAL: a vanished peer is an error to report, not a silent death by SIGPIPE.
    const ssize_t count = ::send(fd, frame.data() + written, frame.size() - written, MSG_NOSIGNAL);
    if (count >= 0) {
      written += static_cast<std::size_t>(count);
    } else if (errno == EAGAIN) {
      wait_until_ready(fd, POLLOUT);
    } else if (errno != EINTR) {
      throw EnvironmentError(fmt::format("writing to the channel failed: {}", std::generic_category().message(errno)));
    }
  }
}

}  // namespace tunebook
