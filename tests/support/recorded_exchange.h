#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "server/http/exchange.h"

namespace wick {

// Keeps what is sent, for tests without connections.
class RecordedExchange : public HttpExchange {
 public:
  void send(HttpResponse response) override { sent = std::move(response); }
  void begin(HttpResponse head) override {
    stream = head.body;
    begun = std::move(head);
  }
  void write(std::string chunk) override { stream += chunk; }
  void finish() override { finished = true; }
  void on_close(std::function<void()>) override {}
  bool is_closed() const override { return false; }

  std::optional<HttpResponse> sent, begun;
  std::string stream;
  bool finished = false;
};

struct ServerEvent {
  std::string name;  // empty: none
  std::string data;
  Json json() const { return Json::parse(data, "event"); }
};

// The events of a stream. What is not one, or has no data, is an event with the text as its name.
inline std::vector<ServerEvent> events_of(const std::string& stream) {
  std::vector<ServerEvent> events;
  size_t at = 0;
  while (at < stream.size()) {
    size_t end = stream.find("\n\n", at);
    if (end == std::string::npos) end = stream.size();
    std::string block = stream.substr(at, end - at);
    at = end + 2;
    ServerEvent event;
    if (block.starts_with("event: ")) {
      const size_t line = block.find('\n');
      event.name = block.substr(7, line - 7);
      block.erase(0, line + 1);
    }
    if (block.starts_with("data: ")) {
      event.data = block.substr(6);
    } else {
      event.name = block;
    }
    events.push_back(std::move(event));
  }
  return events;
}

}  // namespace wick
