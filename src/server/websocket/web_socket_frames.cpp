#include "server/websocket/web_socket_frames.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "base/utf8.h"
#include "server/websocket/web_socket.h"

namespace wick {
namespace {

constexpr size_t kMostControl = 125;

// The reason as it fits behind the code: whole characters of it.
std::string_view short_reason(std::string_view reason) {
  reason = reason.substr(0, kMostControl - 2);
  return reason.substr(0, find_invalid_utf8(reason));
}

bool may_be_sent(uint16_t code) {
  if (code >= 3000) return code < 5000;
  return code >= 1000 && code <= 1014 && code != 1004 && code != WebSocketClose::kNoCode &&
         code != WebSocketClose::kLost;
}

bool is_known(int kind) { return kind <= 2 || (kind >= 8 && kind <= 10); }

}  // namespace

std::string frame_head(FrameKind kind, size_t payload_bytes) {
  std::string head(1, static_cast<char>(0x80 | static_cast<int>(kind)));
  const auto append = [&](int bytes) {
    for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) head += static_cast<char>(payload_bytes >> shift & 0xFF);
  };
  if (payload_bytes <= kMostControl) {
    append(1);
  } else if (payload_bytes <= 0xFFFF) {
    head += static_cast<char>(126);
    append(2);
  } else {
    head += static_cast<char>(127);
    append(8);
  }
  return head;
}

std::string close_frame(uint16_t code, std::string_view reason) {
  if (code == WebSocketClose::kNoCode) return frame_head(FrameKind::kClose, 0);
  const std::string_view text = short_reason(reason);
  std::string frame = frame_head(FrameKind::kClose, text.size() + 2);
  frame += static_cast<char>(code >> 8);
  frame += static_cast<char>(code & 0xFF);
  frame += text;
  return frame;
}

WebSocketReader::Step WebSocketReader::bad(uint16_t code, std::string problem) {
  is_bad_ = true;
  close_code_ = code;
  problem_ = std::move(problem);
  message_.clear();
  return Step::kBad;
}

WebSocketReader::Step WebSocketReader::read(boost::beast::flat_buffer& buffer) {
  if (std::exchange(is_told_, false)) message_.clear();
  while (!is_bad_) {
    if (!in_frame_ && !take_head(buffer)) break;
    take_payload(buffer);
    if (left_ > 0) break;
    in_frame_ = false;
    const Step step = on_frame();
    if (step != Step::kMore) return step;
  }
  return is_bad_ ? Step::kBad : Step::kMore;
}

bool WebSocketReader::take_head(boost::beast::flat_buffer& buffer) {
  const auto* bytes = static_cast<const uint8_t*>(buffer.cdata().data());
  if (buffer.size() < 2) return false;
  const int length_code = bytes[1] & 0x7F;
  const size_t length_bytes = length_code == 126 ? 2 : length_code == 127 ? 8 : 0;
  const size_t head_bytes = 2 + length_bytes + 4;
  const auto refuse = [this](uint16_t code, std::string problem) {
    bad(code, std::move(problem));
    return false;
  };
  constexpr uint16_t kWrong = WebSocketClose::kProtocolError;
  if (bytes[0] & 0x70) return refuse(kWrong, "A reserved bit of a frame is set, but no extension was agreed on.");
  if (!is_known(bytes[0] & 0x0F)) return refuse(kWrong, "A frame is of a kind that there is not.");
  if (!(bytes[1] & 0x80)) return refuse(kWrong, "A frame is not masked, as those of a client must be.");
  kind_ = static_cast<FrameKind>(bytes[0] & 0x0F);
  is_last_ = (bytes[0] & 0x80) != 0;
  if (is_control() && (!is_last_ || length_bytes > 0)) {
    return refuse(kWrong, "A control frame is in parts or longer than 125 bytes.");
  }
  if (!is_control() && in_message_ != (kind_ == FrameKind::kContinued)) {
    return refuse(kWrong,
                  in_message_ ? "A message begins in the middle of another." : "No message is to be continued.");
  }
  if (buffer.size() < head_bytes) return false;

  left_ = length_bytes == 0 ? static_cast<uint64_t>(length_code) : 0;
  for (size_t i = 0; i < length_bytes; ++i) left_ = left_ << 8 | bytes[2 + i];
  std::copy_n(bytes + 2 + length_bytes, 4, mask_.begin());
  buffer.consume(head_bytes);
  bytes_ += head_bytes;
  mask_at_ = 0;
  in_frame_ = true;
  if (is_control()) {
    control_.clear();
    return true;
  }
  if (left_ > message_bytes_ - message_.size()) {
    return refuse(WebSocketClose::kTooBig, cat("A message is longer than ", message_bytes_, " bytes."));
  }
  if (kind_ != FrameKind::kContinued) message_kind_ = kind_;
  in_message_ = true;
  return true;
}

void WebSocketReader::take_payload(boost::beast::flat_buffer& buffer) {
  const size_t count = static_cast<size_t>(std::min<uint64_t>(left_, buffer.size()));
  std::string& out = payload();
  const size_t begin = out.size();
  out.append(static_cast<const char*>(buffer.cdata().data()), count);
  for (size_t i = begin; i < out.size(); ++i) out[i] = static_cast<char>(out[i] ^ mask_[mask_at_++ & 3]);
  buffer.consume(count);
  bytes_ += count;
  left_ -= count;
}

WebSocketReader::Step WebSocketReader::on_frame() {
  switch (kind_) {
    case FrameKind::kPing: return Step::kPing;
    case FrameKind::kPong: return Step::kPong;
    case FrameKind::kClose: return on_goodbye();
    default: break;
  }
  if (!is_last_) return Step::kMore;
  in_message_ = false;
  is_told_ = true;
  if (message_kind_ == FrameKind::kBinary) return Step::kBinary;
  if (is_utf8(message_)) return Step::kText;
  return bad(WebSocketClose::kInvalidText, "A text is not UTF-8.");
}

WebSocketReader::Step WebSocketReader::on_goodbye() {
  close_code_ = WebSocketClose::kNoCode;
  if (control_.empty()) return Step::kClose;
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(control_[i]); };
  const auto code = static_cast<uint16_t>(control_.size() < 2 ? 0 : byte(0) << 8 | byte(1));
  if (!may_be_sent(code)) {
    return bad(WebSocketClose::kProtocolError, "The close frame has a code that there is not.");
  }
  if (!is_utf8(std::string_view(control_).substr(2))) {
    return bad(WebSocketClose::kInvalidText, "The reason of the close frame is not UTF-8.");
  }
  close_code_ = code;
  return Step::kClose;
}

}  // namespace wick
