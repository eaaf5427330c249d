#include "worker/channel.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/error.h"

namespace tunebook {
namespace {

using nlohmann::json;

class SocketPair {
 public:
  SocketPair() { EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds_), 0); }
  ~SocketPair() {
    close_end(0);
    close_end(1);
  }
  SocketPair(const SocketPair&) = delete;
  SocketPair& operator=(const SocketPair&) = delete;
  int end(int index) const { return fds_[index]; }
  void close_end(int index) {
    if (fds_[index] >= 0) ::close(fds_[index]);
    fds_[index] = -1;
  }

 private:
  int fds_[2] = {-1, -1};
};

std::vector<std::uint8_t> frame_of(const std::vector<std::uint8_t>& body) {
  std::vector<std::uint8_t> frame(4 + body.size());
  for (std::size_t i = 0; i < 4; ++i) frame[i] = static_cast<std::uint8_t>(body.size() >> (8 * i));
  std::copy(body.begin(), body.end(), frame.begin() + 4);
  return frame;
}

TEST(Channel, FrameIsLittleEndianLengthAndMessagePack) {
  const std::vector<std::uint8_t> expected = {4, 0, 0, 0, 0x81, 0xa1, 'a', 1};
  EXPECT_EQ(encode_frame(json{{"a", 1}}), expected);
}

TEST(Channel, ReaderTakesBytesOneByOneAndManyAtOnce) {
  std::vector<std::uint8_t> bytes;
  for (int i = 0; i < 3; ++i) {
    const auto frame = encode_frame(json{{"i", i}, {"text", std::string(static_cast<std::size_t>(i) * 300, 'x')}});
    bytes.insert(bytes.end(), frame.begin(), frame.end());
  }
  FrameReader single;
  std::vector<json> received;
  for (const std::uint8_t byte : bytes) {
    single.append({&byte, 1});
    while (auto message = single.next()) received.push_back(*message);
  }
  ASSERT_EQ(received.size(), 3u);
  EXPECT_EQ(received[2]["text"].get<std::string>().size(), 600u);

  FrameReader whole;
  whole.append(bytes);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(whole.next().value()["i"], i);
  EXPECT_FALSE(whole.next().has_value());
}

TEST(Channel, TextIsBinarySafe) {
  std::string text = "caf\xe9 \xff\xfe";
  text.push_back('\0');
  text += "end";
  FrameReader reader;
  reader.append(encode_frame(json{{"text", text}}));
  EXPECT_EQ(reader.next().value()["text"].get<std::string>(), text);
}

TEST(Channel, MalformedFramesAreProtocolErrors) {
  FrameReader too_long;
  too_long.append(std::vector<std::uint8_t>{0xff, 0xff, 0xff, 0x7f});
  EXPECT_THROW(too_long.next(), ProtocolError);

  for (const std::vector<std::uint8_t>& body :
       {std::vector<std::uint8_t>{}, {0xc1}, {0x81, 0xa1, 'a'}, {0x01, 0x02}, {0xdd, 0xff, 0xff, 0xff, 0xff}}) {
    FrameReader reader;
    reader.append(frame_of(body));
    EXPECT_THROW(reader.next(), ProtocolError);
  }
}

TEST(Channel, DeepNestingIsRejectedWithoutOverflowingTheStack) {
  FrameReader reader;
  reader.append(frame_of(std::vector<std::uint8_t>(std::size_t{4} << 20, 0x91)));
  EXPECT_THROW(reader.next(), ProtocolError);
}

TEST(Channel, LargeMessagesPassThroughShortWrites) {
  const SocketPair pair;
  // Non-blocking and with a small buffer, every write is short and some would block.
  const int small = 4096;
  ::setsockopt(pair.end(0), SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
  ::fcntl(pair.end(0), F_SETFL, O_NONBLOCK);
  const json message = {{"text", std::string(std::size_t{3} << 20, 'y')}};
  std::thread writer([&] { write_message(pair.end(0), message); });
  FrameReader reader;
  EXPECT_EQ(read_message(pair.end(1), reader), message);
  writer.join();
}

TEST(Channel, EndOfFileIsNoMessage) {
  SocketPair pair;
  write_message(pair.end(0), json{{"last", true}});
  const std::vector<std::uint8_t> cut = {9, 0, 0, 0, 0x81};
  ASSERT_EQ(::write(pair.end(0), cut.data(), cut.size()), 5);
  pair.close_end(0);
  FrameReader reader;
  EXPECT_TRUE(read_message(pair.end(1), reader).has_value());
  EXPECT_FALSE(read_message(pair.end(1), reader).has_value());
}

TEST(Channel, WritingToAVanishedPeerThrowsInsteadOfKilling) {
  SocketPair pair;
  pair.close_end(1);
  EXPECT_THROW(write_message(pair.end(0), json{{"a", 1}}), EnvironmentError);
}

}  // namespace
}  // namespace tunebook
