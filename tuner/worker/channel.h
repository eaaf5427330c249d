#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace tunebook {

// A message that cannot be understood: wrong framing, not MessagePack, missing or wrong fields, too long.
class ProtocolError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A frame is a little-endian u32 length and that many bytes of MessagePack.
inline constexpr std::size_t kMaxFrameBytes = std::size_t{256} << 20;

std::vector<std::uint8_t> encode_frame(const nlohmann::json& message);

// Collects bytes as they come and gives out whole messages.
class FrameReader {
 public:
  void append(std::span<const std::uint8_t> bytes);
  // The next whole message, or nothing yet. Throws ProtocolError.
  std::optional<nlohmann::json> next();

 private:
  std::vector<std::uint8_t> buffer_;
  std::size_t start_ = 0;
};

// Blocking ends for workers. read_message returns nothing at end of file.
std::optional<nlohmann::json> read_message(int fd, FrameReader& reader);
void write_message(int fd, const nlohmann::json& message);  // throws EnvironmentError if the peer is gone

}  // namespace tunebook
