#pragma once

#include <array>
#include <boost/beast/core/flat_buffer.hpp>
#include <cstdint>
#include <string>
#include <string_view>

namespace wick {

// Frames of RFC 6455:
//   byte 0: 0x80 = last of its message, 0x0F = kind | byte 1: 0x80 = masked, 0x7F = length (126: 2 bytes follow,
//   127: 8 bytes, big endian) | 4 bytes of mask, from clients | payload, byte i xor mask[i % 4]
enum class FrameKind : uint8_t { kContinued = 0, kText = 1, kBinary = 2, kClose = 8, kPing = 9, kPong = 10 };

// What stands before the payload of a frame to a client.
std::string frame_head(FrameKind kind, size_t payload_bytes);
// A whole frame that says goodbye; 1005 says it without a code.
std::string close_frame(uint16_t code, std::string_view reason);

// Puts the messages of a client together from the bytes of its connection as they arrive.
class WebSocketReader {
 public:
  explicit WebSocketReader(size_t message_bytes) : message_bytes_(message_bytes) {}

  enum class Step {
    kMore,  // more bytes are needed
    kText,  // these four: see payload()
    kBinary,
    kPing,
    kPong,
    kClose,  // see close_code(); nothing may follow
    kBad     // see close_code() and problem(); what follows in the buffer has no meaning
  };
  Step read(boost::beast::flat_buffer& buffer);

  std::string& payload() { return is_control() ? control_ : message_; }  // until the next read()
  uint16_t close_code() const { return close_code_; }
  const std::string& problem() const { return problem_; }
  uint64_t bytes() const { return bytes_; }
  size_t held_bytes() const { return message_.size(); }  // of a message that is not complete

 private:
  bool is_control() const { return kind_ >= FrameKind::kClose; }
  bool take_head(boost::beast::flat_buffer& buffer);  // false: more bytes are needed, or it is bad
  void take_payload(boost::beast::flat_buffer& buffer);
  Step on_frame();
  Step on_goodbye();
  Step bad(uint16_t code, std::string problem);

  const size_t message_bytes_;
  uint64_t bytes_ = 0;
  bool in_frame_ = false, is_bad_ = false;

  // Of the frame
  FrameKind kind_ = FrameKind::kContinued;
  bool is_last_ = false;
  uint64_t left_ = 0;  // of its payload
  std::array<uint8_t, 4> mask_{};
  size_t mask_at_ = 0;
  std::string control_;

  // Of the message, whose frames may have control frames between them
  bool in_message_ = false, is_told_ = false;
  FrameKind message_kind_ = FrameKind::kText;
  std::string message_;

  uint16_t close_code_ = 0;
  std::string problem_;
};

}  // namespace wick
