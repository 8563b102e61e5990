#include "support/web_socket_client.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/websocket.hpp>
#include <boost/beast/websocket/ssl.hpp>
#include <functional>

#include "base/error.h"
#include "base/text.h"
#include "support/sanitized.h"

namespace wick {
namespace {

namespace asio = boost::asio;
namespace ws = boost::beast::websocket;
using asio::ip::tcp;
using SystemError = boost::system::error_code;

Error failed(std::string_view what) { return Error(ErrorCode::kIo, cat("web socket client: ", what)); }

}  // namespace

struct WebSocketClient::Connection {
  using Done = std::function<void(SystemError, size_t)>;
  virtual ~Connection() = default;
  virtual void write(bool is_text, std::string_view bytes, bool is_last, Done done) = 0;
  virtual void read(Done done) = 0;
  virtual void ping(std::string_view payload, Done done) = 0;
  virtual void close(uint16_t code, std::string_view reason, Done done) = 0;
  virtual void cut() = 0;
  virtual ws::close_reason reason() const = 0;
  virtual bool got_text() const = 0;

  SystemError run(const std::function<void(Done)>& start) {
    std::optional<SystemError> result;
    start([&](SystemError error, size_t) { result = error; });
    io.restart();
    while (!result && io.run_one_for(kSlowness * std::chrono::seconds(10)) > 0) continue;
    if (!result) {
      cut();
      io.run_for(std::chrono::seconds(1));  // what is under way ends with an error, before `result` goes
      throw failed("nothing happened for ten seconds");
    }
    return *result;
  }
  void on_control(ws::frame_type kind, boost::beast::string_view payload) {
    if (kind == ws::frame_type::pong) pongs.emplace_back(payload);
    if (kind == ws::frame_type::ping) ++pings;
  }

  asio::io_context io;
  asio::ssl::context tls{asio::ssl::context::tls_client};
  boost::beast::flat_buffer buffer;
  std::string protocol;
  std::vector<std::string> pongs;
  int pings = 0;
};

template <typename Stream>
struct WebSocketClient::ConnectionOver : Connection {
  template <typename... Arguments>
  explicit ConnectionOver(Arguments&... arguments) : stream(io, arguments...) {}
  ConnectionOver() requires std::is_same_v<Stream, tcp::socket> : stream(io) {}

  void open(const std::string& target, const HttpClient::Fields& fields) {
    stream.set_option(ws::stream_base::decorator([&](ws::request_type& request) {
      for (const auto& [name, value] : fields) request.set(name, value);
    }));
    stream.control_callback(
        [this](ws::frame_type kind, boost::beast::string_view payload) { on_control(kind, payload); });
    stream.read_message_max(0);
    ws::response_type answer;
    const SystemError error = run([&](Done done) {
      stream.async_handshake(answer, "127.0.0.1", target, [done](SystemError result) { done(result, 0); });
    });
    if (error) throw failed(cat("status ", answer.result_int(), ": ", error.message()));
    protocol = std::string(answer[boost::beast::http::field::sec_websocket_protocol]);
  }

  void write(bool is_text, std::string_view bytes, bool is_last, Done done) override {
    stream.text(is_text);
    stream.async_write_some(is_last, asio::buffer(bytes.data(), bytes.size()), done);
  }
  void read(Done done) override { stream.async_read(buffer, done); }
  void ping(std::string_view payload, Done done) override {
    stream.async_ping(ws::ping_data(boost::beast::string_view(payload.data(), payload.size())),
                      [done](SystemError error) { done(error, 0); });
  }
  void close(uint16_t code, std::string_view reason, Done done) override {
    stream.async_close(
        ws::close_reason(static_cast<ws::close_code>(code), boost::beast::string_view(reason.data(), reason.size())),
        [done](SystemError error) { done(error, 0); });
  }
  void cut() override {
    SystemError ignored;
    boost::beast::get_lowest_layer(stream).close(ignored);
  }
  ws::close_reason reason() const override { return stream.reason(); }
  bool got_text() const override { return stream.got_text(); }

  ws::stream<Stream> stream;
};

WebSocketClient::WebSocketClient(uint16_t port, const std::string& target, const Options& options) {
  const tcp::endpoint endpoint(asio::ip::address_v4::loopback(), port);
  if (options.security == HttpClient::Security::kPlain) {
    auto plain = std::make_unique<ConnectionOver<tcp::socket>>();
    plain->stream.next_layer().connect(endpoint);
    plain->open(target, options.fields);
    connection_ = std::move(plain);
    return;
  }
  using Tls = asio::ssl::stream<tcp::socket>;
  struct OverTls : ConnectionOver<Tls> {
    OverTls() : ConnectionOver<Tls>(tls) {}
  };
  auto secure = std::make_unique<OverTls>();
  secure->stream.next_layer().next_layer().connect(endpoint);
  secure->stream.next_layer().handshake(asio::ssl::stream_base::client);
  secure->open(target, options.fields);
  connection_ = std::move(secure);
}

WebSocketClient::~WebSocketClient() = default;
WebSocketClient::WebSocketClient(WebSocketClient&&) noexcept = default;
WebSocketClient& WebSocketClient::operator=(WebSocketClient&&) noexcept = default;

std::string WebSocketClient::protocol() const { return connection_->protocol; }

void WebSocketClient::send_text(std::string_view text, bool is_last) {
  const SystemError error =
      connection_->run([&](auto done) { connection_->write(true, text, is_last, std::move(done)); });
  if (error) throw failed(error.message());
}

void WebSocketClient::send_binary(std::string_view bytes, bool is_last) {
  const SystemError error =
      connection_->run([&](auto done) { connection_->write(false, bytes, is_last, std::move(done)); });
  if (error) throw failed(error.message());
}

void WebSocketClient::ping(std::string_view payload) {
  connection_->run([&](auto done) { connection_->ping(payload, std::move(done)); });
}

void WebSocketClient::close(uint16_t code, std::string_view reason) {
  connection_->run([&](auto done) { connection_->close(code, reason, std::move(done)); });
}

void WebSocketClient::cut() { connection_->cut(); }

std::optional<WebSocketClient::Message> WebSocketClient::read() {
  const SystemError error = connection_->run([&](auto done) { connection_->read(std::move(done)); });
  if (error) return std::nullopt;
  const auto bytes = connection_->buffer.cdata();
  Message message{connection_->got_text(), std::string(static_cast<const char*>(bytes.data()), bytes.size())};
  connection_->buffer.clear();
  return message;
}

std::string WebSocketClient::read_text() {
  auto message = read();
  if (!message) throw failed(cat("closed with ", close_code(), ": ", close_reason()));
  if (!message->is_text) throw failed("a message is not text");
  return std::move(message->payload);
}

uint16_t WebSocketClient::read_to_close() {
  while (read()) continue;
  return close_code();
}

uint16_t WebSocketClient::close_code() const {
  const auto code = static_cast<uint16_t>(connection_->reason().code);
  return code == 0 ? 1006 : code;
}

std::string WebSocketClient::close_reason() const {
  const auto reason = connection_->reason().reason;
  return {reason.data(), reason.size()};
}

const std::vector<std::string>& WebSocketClient::pongs() const { return connection_->pongs; }
int WebSocketClient::pings() const { return connection_->pings; }

}  // namespace wick
