#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/http_client.h"

namespace wick {

struct WebSocketClientOptions {
  HttpClient::Fields fields;
  HttpClient::Security security = HttpClient::Security::kPlain;
};

// A web socket to 127.0.0.1 by Boost.Beast, for tests: blocking. Whatever does not happen within ten seconds throws
// Error(kIo).
class WebSocketClient {
 public:
  using Options = WebSocketClientOptions;
  // Throws Error(kIo) with the status when the server refuses.
  WebSocketClient(uint16_t port, const std::string& target, const Options& options = {});
  ~WebSocketClient();
  WebSocketClient(WebSocketClient&&) noexcept;
  WebSocketClient& operator=(WebSocketClient&&) noexcept;

  std::string protocol() const;  // agreed on

  void send_text(std::string_view text, bool is_last = true);  // not the last: the next one goes on with it
  void send_binary(std::string_view bytes, bool is_last = true);
  void ping(std::string_view payload);
  void close(uint16_t code, std::string_view reason = {});
  void cut();  // without a goodbye

  struct Message {
    bool is_text;
    std::string payload;
  };
  // Empty: the server has said goodbye; see close_code().
  std::optional<Message> read();
  std::string read_text();  // fails with Error(kIo) for anything else
  // Reads to the goodbye; the code, or 1006 when the connection ended without.
  uint16_t read_to_close();

  uint16_t close_code() const;
  std::string close_reason() const;
  const std::vector<std::string>& pongs() const;  // that came while reading
  int pings() const;                              // of the server; they are answered

 private:
  struct Connection;
  template <typename Stream>
  struct ConnectionOver;
  std::unique_ptr<Connection> connection_;
};

}  // namespace wick
