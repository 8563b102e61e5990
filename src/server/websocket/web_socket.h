#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "server/http/exchange.h"

namespace wick {

// Reasons for the end of a web socket (RFC 6455, 7.4.1) that are given here.
struct WebSocketClose {
  static constexpr uint16_t kNormal = 1000;
  static constexpr uint16_t kGoingAway = 1001;
  static constexpr uint16_t kProtocolError = 1002;
  static constexpr uint16_t kNoCode = 1005;  // the client gave none; never sent
  static constexpr uint16_t kLost = 1006;    // the connection ended without a goodbye; never sent
  static constexpr uint16_t kInvalidText = 1007;
  static constexpr uint16_t kPolicy = 1008;
  static constexpr uint16_t kTooBig = 1009;
  static constexpr uint16_t kServerError = 1011;
  static constexpr uint16_t kTryLater = 1013;
};

// The server's end of a web socket. Thread-safe; no call blocks, and none does harm once it is closed.
class WebSocket {
 public:
  virtual ~WebSocket() = default;
  virtual void send_text(std::string text) = 0;  // valid UTF-8
  // A client that reads too slowly for the limits is told 1008 and cut off; so with texts.
  virtual void send_binary(std::string bytes) = 0;
  // What was sent before still goes out. Of the reason, 123 bytes are sent at most.
  virtual void close(uint16_t code, std::string reason) = 0;
};

// What hears the client. Called on threads of the workers, one call at a time and in order, so that it may take its
// time: what the client sends meanwhile waits, and when that is too much, the client does. What a call throws closes
// the web socket with 1011 and the sentence.
class WebSocketListener {
 public:
  virtual ~WebSocketListener() = default;
  virtual void on_open(std::shared_ptr<WebSocket> socket) = 0;  // first
  virtual void on_text(std::string text) = 0;                   // valid UTF-8
  virtual void on_binary(std::string bytes) = 0;
  // Last, and always: whoever stops the server waits for it. The code is that of the side that closed.
  virtual void on_close(uint16_t code) = 0;
};

// Decides about a client that wants a web socket. What it throws is the answer instead.
using WebSocketHandler = std::function<std::shared_ptr<WebSocketListener>(const HttpRequest&)>;

}  // namespace wick
