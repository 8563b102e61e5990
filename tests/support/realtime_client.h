#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/api/json_copy.h"
#include "support/web_socket_client.h"

namespace wick {

// Samples as a client sends them: 16 bits, little endian.
inline std::string pcm16(std::span<const float> samples) {
  std::string bytes;
  for (const float sample : samples) {
    const auto value = static_cast<int>(std::lround(std::clamp(sample * 32768.0f, -32768.0f, 32767.0f)));
    bytes += static_cast<char>(value & 0xFF);
    bytes += static_cast<char>(value >> 8 & 0xFF);
  }
  return bytes;
}

inline std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const auto byte = [&](size_t at) { return at < bytes.size() ? static_cast<uint8_t>(bytes[at]) : 0u; };
    const uint32_t three = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
    for (size_t digit = 0; digit < 4; ++digit) {
      text += i + digit > bytes.size() ? '=' : kDigits[three >> (18 - 6 * digit) & 63];
    }
  }
  return text;
}

// A client of /v1/realtime that keeps all events it has read.
class RealtimeClient {
 public:
  explicit RealtimeClient(uint16_t port, const std::string& query = {}) : socket_(port, cat("/v1/realtime", query)) {}

  void send(const OrderedJson& event) { socket_.send_text(event.dump()); }
  void update(const OrderedJson& session) { send({{"type", "session.update"}, {"session", session}}); }
  void append(std::span<const float> samples) {
    send({{"type", "input_audio_buffer.append"}, {"audio", base64(pcm16(samples))}});
  }
  // 100 ms at a time, as programs with a microphone do; every other one as raw bytes.
  void speak(std::span<const float> samples, size_t rate = 16000) {
    for (bool is_raw = false; !samples.empty(); is_raw = !is_raw) {
      const auto frame = samples.first(std::min(samples.size(), rate / 10));
      samples = samples.subspan(frame.size());
      if (is_raw) {
        socket_.send_binary(pcm16(frame));
      } else {
        append(frame);
      }
    }
  }

  OrderedJson next() { return events_.emplace_back(OrderedJson::parse(socket_.read_text())); }
  // Reads on to the next event of that type.
  OrderedJson next(std::string_view type) {
    while (true) {
      OrderedJson event = next();
      if (event["type"] == type) return event;
      if (event["type"] == "error") ADD_FAILURE() << event.dump();
    }
  }
  // The next event is an error with that code; its message.
  std::string next_error(std::string_view code) {
    const OrderedJson event = next();
    EXPECT_EQ(event["type"], "error") << event.dump();
    if (event["type"] != "error") return {};
    EXPECT_EQ(event["error"]["code"], code) << event.dump();
    return event["error"]["message"];
  }

  const std::vector<OrderedJson>& events() const { return events_; }
  std::vector<std::string> types() const {
    std::vector<std::string> types;
    for (const OrderedJson& event : events_) types.push_back(event["type"]);
    return types;
  }
  size_t count(std::string_view type) const {
    const auto all = types();
    return static_cast<size_t>(std::count(all.begin(), all.end(), type));
  }
  // Where the first event of that type stands; events().size() when there is none.
  size_t find(std::string_view type) const {
    const auto all = types();
    return static_cast<size_t>(std::find(all.begin(), all.end(), type) - all.begin());
  }
  void forget() { events_.clear(); }
  WebSocketClient& socket() { return socket_; }

 private:
  WebSocketClient socket_;
  std::vector<OrderedJson> events_;
};

}  // namespace wick
