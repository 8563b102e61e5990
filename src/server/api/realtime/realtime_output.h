#pragma once

#include <memory>
#include <string_view>

#include "server/api/generation/answer_head.h"
#include "server/api/json_copy.h"
#include "server/websocket/web_socket.h"

namespace wick {

// Sends events to the client of a realtime session. Thread-safe; no call blocks.
class RealtimeOutput {
 public:
  explicit RealtimeOutput(std::shared_ptr<WebSocket> socket) : socket_(std::move(socket)) {}

  void send(std::string_view type, const OrderedJson& fields) {
    OrderedJson event = {{"type", type}, {"event_id", make_id("event_")}};
    event.update(fields);
    socket_->send_text(to_text(event));
  }
  // `client_event`: the id of the event at fault, if it had one.
  void send_error(std::string_view code, std::string_view message, std::string_view param = {},
                  std::string_view client_event = {}, std::string_view type = "invalid_request_error") {
    const auto or_null = [](std::string_view text) { return text.empty() ? OrderedJson() : OrderedJson(text); };
    send("error", {{"error",
                    {{"type", type},
                     {"code", or_null(code)},
                     {"message", message},
                     {"param", or_null(param)},
                     {"event_id", or_null(client_event)}}}});
  }
  void close(uint16_t code, std::string reason) { socket_->close(code, std::move(reason)); }

 private:
  std::shared_ptr<WebSocket> socket_;
};

}  // namespace wick
