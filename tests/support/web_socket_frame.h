#pragma once

#include <string>
#include <string_view>

#include "base/text.h"

namespace wick {

// A frame of a client; the first byte tells kind and end.
inline std::string client_frame(int first_byte, std::string_view payload) {
  constexpr std::string_view kMask = "\x37\xFA\x21\x3D";
  std::string frame(1, static_cast<char>(first_byte));
  const size_t size = payload.size();
  if (size < 126) {
    frame += static_cast<char>(0x80 | size);
  } else {
    const int bytes = size <= 0xFFFF ? 2 : 8;
    frame += static_cast<char>(bytes == 2 ? 0xFE : 0xFF);
    for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) frame += static_cast<char>(size >> shift & 0xFF);
  }
  frame += kMask;
  for (size_t i = 0; i < size; ++i) frame += static_cast<char>(payload[i] ^ kMask[i % 4]);
  return frame;
}

// The handshake of RFC 6455, 1.3.
inline std::string web_socket_request(std::string_view target, std::string_view more_fields = {}) {
  return cat("GET ", target,
             " HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: keep-alive, Upgrade\r\n"
             "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n",
             more_fields, "\r\n");
}

}  // namespace wick
