#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace wick {

struct HttpAnswer {
  int status = 0;
  std::string version;                                      // "HTTP/1.1"
  std::vector<std::pair<std::string, std::string>> fields;  // names in lower case
  std::string body;                                         // of chunks, joined
  std::string field(std::string_view name) const;           // the first of that name; empty: none
  bool has_field(std::string_view name) const;
};

// A client on one connection to 127.0.0.1, for tests: blocking, and close enough to the socket to send nonsense. It
// reads answers by its own code, not by the server's. Whatever does not happen within ten seconds throws Error(kIo), so
// that a test fails rather than hangs; so does a connection that ends in the middle of an answer.
//
//   HttpClient client(server.port());
//   const HttpAnswer answer = client.request("POST", "/v1/completions", body, {{"Authorization", "Bearer key"}});
//
//   client.send("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");     // piece by piece
//   const HttpAnswer head = client.read_head();
//   while (const auto chunk = client.read_chunk()) ...            // empty behind the last
class HttpClient {
 public:
  enum class Security { kPlain, kTls };  // TLS without looking at the certificate
  using Fields = std::vector<std::pair<std::string, std::string>>;

  // `from` is the client's own address, of 127.0.0.0/8; empty: 127.0.0.1.
  explicit HttpClient(uint16_t port, Security security = Security::kPlain, const std::string& from = {});
  ~HttpClient();
  HttpClient(HttpClient&&) noexcept;
  HttpClient& operator=(HttpClient&&) noexcept;

  // Sends a whole request and reads the whole answer. Content-Length is added when there is a body or it is a POST.
  HttpAnswer request(std::string_view method, std::string_view target, std::string_view body = {},
                     const Fields& fields = {});
  HttpAnswer get(std::string_view target, const Fields& fields = {}) { return request("GET", target, {}, fields); }

  void send(std::string_view bytes);  // all of it
  // False when the server closed before taking all of it.
  bool try_send(std::string_view bytes);

  HttpAnswer read_answer(std::string_view method = "GET");  // the answer to HEAD has no body
  HttpAnswer read_head();
  std::optional<std::string> read_chunk();  // one chunk of a body in chunks; empty: that was the last
  std::string read_bytes(size_t count);
  std::string read_to_end();  // until the server closes
  bool is_at_end();           // waits for either a byte or the end
  bool is_reset();            // the same for an end that is an error

  std::string certificate() const;  // of the server, as DER

  void finish_sending();  // closes this half only
  void close();
  void reset();                        // an impolite close, which the server sees as an error
  void set_receive_buffer(int bytes);  // of the system, to be a slow reader sooner

 private:
  struct Connection;
  bool fill();  // more bytes into buffer_; false: the server closed
  std::string read_line();

  std::unique_ptr<Connection> connection_;
  std::string buffer_;  // read and not yet used
};

}  // namespace wick
