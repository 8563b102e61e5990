#include <gtest/gtest.h>

#include "server/websocket/web_socket.h"
#include "server/websocket/web_socket_frames.h"
#include "support/web_socket_frame.h"

namespace wick {
namespace {

using Step = WebSocketReader::Step;

struct Read {
  Step step;
  std::string payload;
  bool operator==(const Read&) const = default;
};

// What a reader makes of bytes that come `at_once` at a time.
std::vector<Read> read_all(WebSocketReader& reader, std::string_view bytes, size_t at_once) {
  std::vector<Read> all;
  boost::beast::flat_buffer buffer;
  while (!bytes.empty()) {
    const std::string_view part = bytes.substr(0, at_once);
    bytes.remove_prefix(part.size());
    const auto room = buffer.prepare(part.size());
    std::copy(part.begin(), part.end(), static_cast<char*>(room.data()));
    buffer.commit(part.size());
    for (Step step = reader.read(buffer); step != Step::kMore; step = reader.read(buffer)) {
      all.push_back({step, step == Step::kBad ? reader.problem() : reader.payload()});
      if (step == Step::kBad || step == Step::kClose) return all;
    }
  }
  return all;
}

TEST(WebSocketFrames, EveryCutGivesTheSameMessages) {
  const std::string bytes = cat(client_frame(0x81, "Hello"),  // the frames of RFC 6455, 5.7
                                client_frame(0x01, "Hel"), client_frame(0x89, "now?"), client_frame(0x80, "lo"),
                                client_frame(0x82, std::string(126, 'a')), client_frame(0x82, std::string(65536, 'b')),
                                client_frame(0x81, ""), client_frame(0x8A, ""), client_frame(0x02, ""),
                                client_frame(0x00, "c"), client_frame(0x80, ""), client_frame(0x88, "\x03\xE8goodbye"));
  const std::vector<Read> expected = {{Step::kText, "Hello"},
                                      {Step::kPing, "now?"},
                                      {Step::kText, "Hello"},
                                      {Step::kBinary, std::string(126, 'a')},
                                      {Step::kBinary, std::string(65536, 'b')},
                                      {Step::kText, ""},
                                      {Step::kPong, ""},
                                      {Step::kBinary, "c"},
                                      {Step::kClose, "\x03\xE8goodbye"}};
  for (const size_t at_once : {bytes.size(), size_t{1}, size_t{2}, size_t{7}, size_t{4096}}) {
    WebSocketReader reader(65536);
    EXPECT_EQ(read_all(reader, bytes, at_once), expected) << at_once;
    EXPECT_EQ(reader.close_code(), 1000);
    EXPECT_EQ(reader.bytes(), bytes.size());
  }
}

TEST(WebSocketFrames, WhatIsWrongIsSaid) {
  const struct {
    std::string bytes;
    uint16_t code;
    std::string_view problem;
  } cases[] = {
      {std::string("\x81\x05Hello"), 1002, "masked"},
      {client_frame(0xC1, "x"), 1002, "reserved"},
      {client_frame(0x91, "x"), 1002, "reserved"},
      {client_frame(0x83, "x"), 1002, "kind"},
      {client_frame(0x8B, "x"), 1002, "kind"},
      {client_frame(0x80, "x"), 1002, "continued"},
      {cat(client_frame(0x01, "x"), client_frame(0x81, "y")), 1002, "middle of another"},
      {client_frame(0x09, "x"), 1002, "control frame"},
      {client_frame(0x89, std::string(126, 'x')), 1002, "control frame"},
      {client_frame(0x88, "\x03"), 1002, "code"},
      {client_frame(0x88, "\x03\xED"), 1002, "code"},  // 1005
      {client_frame(0x88, std::string("\0\0", 2)), 1002, "code"},
      {client_frame(0x88, "\x03\xE8\xFF"), 1007, "reason"},
      {client_frame(0x81, "\xC3"), 1007, "UTF-8"},
      {cat(client_frame(0x01, "\xC3"), client_frame(0x80, "\x28")), 1007, "UTF-8"},
      {client_frame(0x82, std::string(101, 'x')), 1009, "100 bytes"},
      {cat(client_frame(0x02, std::string(60, 'x')), client_frame(0x80, std::string(41, 'x'))), 1009, "100 bytes"},
      {std::string("\x82\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\0\0\0\0", 14), 1009, "100 bytes"},  // a length alone
  };
  for (const auto& one : cases) {
    SCOPED_TRACE(one.problem);
    WebSocketReader reader(100);
    const std::vector<Read> all = read_all(reader, one.bytes, 3);
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0].step, Step::kBad);
    EXPECT_EQ(reader.close_code(), one.code);
    EXPECT_NE(all[0].payload.find(one.problem), std::string::npos) << all[0].payload;
  }
}

TEST(WebSocketFrames, ACharacterMayBeCutBetweenFrames) {
  WebSocketReader reader(100);
  const std::string bytes = cat(client_frame(0x01, "\xC3"), client_frame(0x80, "\xA9"));
  EXPECT_EQ(read_all(reader, bytes, 100), (std::vector<Read>{{Step::kText, "\xC3\xA9"}}));
}

TEST(WebSocketFrames, HeadsTellTheLengthInTheShortestForm) {
  EXPECT_EQ(frame_head(FrameKind::kText, 125), "\x81\x7D");
  EXPECT_EQ(frame_head(FrameKind::kText, 126), std::string("\x81\x7E\0\x7E", 4));
  EXPECT_EQ(frame_head(FrameKind::kBinary, 65535), "\x82\x7E\xFF\xFF");
  EXPECT_EQ(frame_head(FrameKind::kBinary, 65536), std::string("\x82\x7F\0\0\0\0\0\1\0\0", 10));
}

TEST(WebSocketFrames, LongReasonsAreCutBetweenCharacters) {
  std::string reason;
  for (int i = 0; i < 100; ++i) reason += "\xC3\xA9";
  const std::string frame = close_frame(1008, reason);
  EXPECT_EQ(frame.substr(0, 4), "\x88\x7C\x03\xF0");  // 61 characters and the code
  EXPECT_EQ(frame.substr(4), reason.substr(0, 122));
  EXPECT_EQ(close_frame(1005, "unused"), std::string("\x88\0", 2));
}

}  // namespace
}  // namespace wick
