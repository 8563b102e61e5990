#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "server/websocket/web_socket.h"
#include "server/websocket/web_socket_frames.h"

namespace wick {

// The connection as a web socket sees it. Both take effect later, on the thread of the connection.
class WebSocketSink {
 public:
  virtual ~WebSocketSink() = default;
  virtual void post_message(FrameKind kind, std::string payload) = 0;
  virtual void post_close(uint16_t code, std::string reason) = 0;
};

// Joins a web socket, used and dropped on any thread, with its connection: once cut, nothing reaches the connection any
// more, and nothing of it is kept alive.
class WebSocketLink : public WebSocket {
 public:
  explicit WebSocketLink(std::shared_ptr<WebSocketSink> sink) : sink_(std::move(sink)) {}

  void send_text(std::string text) override { send(FrameKind::kText, std::move(text)); }
  void send_binary(std::string bytes) override { send(FrameKind::kBinary, std::move(bytes)); }
  void close(uint16_t code, std::string reason) override {
    const std::lock_guard lock(mutex_);
    if (sink_) sink_->post_close(code, std::move(reason));
    sink_.reset();  // before the lock goes: the connection, which cuts the link at its end, is the last to hold itself
  }
  void cut() {
    std::shared_ptr<WebSocketSink> sink;
    const std::lock_guard lock(mutex_);
    sink.swap(sink_);
  }

 private:
  void send(FrameKind kind, std::string payload) {
    const std::lock_guard lock(mutex_);
    if (sink_) sink_->post_message(kind, std::move(payload));
  }

  std::mutex mutex_;
  std::shared_ptr<WebSocketSink> sink_;  // null: closed or cut
};

}  // namespace wick
