#include "support/http_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "base/error.h"
#include "base/text.h"

namespace wick {
namespace {

constexpr int kPatienceMs = 10'000;

Error failed(std::string_view what) { return Error(ErrorCode::kIo, cat("http client: ", what)); }

size_t parse_size(std::string_view text, int base) {
  size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) throw failed(cat("'", text, "' is not a length"));
  return value;
}

}  // namespace

struct HttpClient::Connection {
  int fd = -1;
  SSL_CTX* context = nullptr;
  SSL* ssl = nullptr;

  ~Connection() {
    if (ssl) SSL_free(ssl);
    if (context) SSL_CTX_free(context);
    if (fd >= 0) ::close(fd);
  }

  void wait_for(short events) const {
    pollfd poller{fd, events, 0};
    if (poll(&poller, 1, kPatienceMs) <= 0) throw failed("nothing happened for ten seconds");
  }

  // Bytes read; 0 at the end, which an error of the connection is, too.
  size_t read(char* into, size_t size) const {
    if (ssl) {
      if (SSL_pending(ssl) == 0) wait_for(POLLIN);
      return static_cast<size_t>(std::max(0, SSL_read(ssl, into, static_cast<int>(size))));
    }
    wait_for(POLLIN);
    return static_cast<size_t>(std::max<ssize_t>(0, ::recv(fd, into, size, 0)));
  }

  size_t write(std::string_view bytes) const {
    wait_for(POLLOUT);
    const auto size = std::min<size_t>(bytes.size(), 1 << 20);
    if (ssl) return static_cast<size_t>(std::max(0, SSL_write(ssl, bytes.data(), static_cast<int>(size))));
    ssize_t sent = ::send(fd, bytes.data(), size, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EAGAIN) return write(bytes);
    return static_cast<size_t>(std::max<ssize_t>(0, sent));
  }
};

std::string HttpAnswer::field(std::string_view name) const {
  for (const auto& [known, value] : fields) {
    if (known == name) return value;
  }
  return {};
}

bool HttpAnswer::has_field(std::string_view name) const {
  return std::any_of(fields.begin(), fields.end(), [&](const auto& field) { return field.first == name; });
}

HttpClient::HttpClient(uint16_t port, Security security, const std::string& from)
    : connection_(std::make_unique<Connection>()) {
  connection_->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  if (!from.empty() && (inet_pton(AF_INET, from.c_str(), &address.sin_addr) != 1 ||
                        bind(connection_->fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0)) {
    throw failed(cat("no connection from ", from));
  }
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(connection_->fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    throw failed(cat("no connection to port ", port, ": ", std::strerror(errno)));
  }
  const int on = 1;
  setsockopt(connection_->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  if (security == Security::kPlain) return;
  connection_->context = SSL_CTX_new(TLS_client_method());
  connection_->ssl = SSL_new(connection_->context);
  SSL_set_fd(connection_->ssl, connection_->fd);
  if (SSL_connect(connection_->ssl) != 1) throw failed("the TLS handshake failed");
}

HttpClient::~HttpClient() = default;
HttpClient::HttpClient(HttpClient&&) noexcept = default;
HttpClient& HttpClient::operator=(HttpClient&&) noexcept = default;

HttpAnswer HttpClient::request(std::string_view method, std::string_view target, std::string_view body,
                               const Fields& fields) {
  std::string text = cat(method, " ", target, " HTTP/1.1\r\nHost: 127.0.0.1\r\n");
  for (const auto& [name, value] : fields) text += cat(name, ": ", value, "\r\n");
  if (!body.empty() || method == "POST") text += cat("Content-Length: ", body.size(), "\r\n");
  send(cat(text, "\r\n", body));
  return read_answer(method);
}

void HttpClient::send(std::string_view bytes) {
  if (!try_send(bytes)) throw failed("the server closed before everything was sent");
}

bool HttpClient::try_send(std::string_view bytes) {
  while (!bytes.empty()) {
    const size_t sent = connection_->write(bytes);
    if (sent == 0) return false;
    bytes.remove_prefix(sent);
  }
  return true;
}

bool HttpClient::fill() {
  char bytes[16 << 10];
  const size_t count = connection_->read(bytes, sizeof(bytes));
  buffer_.append(bytes, count);
  return count > 0;
}

std::string HttpClient::read_line() {
  size_t end = 0;
  while ((end = buffer_.find("\r\n")) == std::string::npos) {
    if (!fill()) throw failed(cat("the connection ended in the middle of a line: '", buffer_, "'"));
  }
  std::string line = buffer_.substr(0, end);
  buffer_.erase(0, end + 2);
  return line;
}

std::string HttpClient::read_bytes(size_t count) {
  while (buffer_.size() < count) {
    if (!fill()) throw failed(cat("the connection ended after ", buffer_.size(), " of ", count, " bytes"));
  }
  std::string bytes = buffer_.substr(0, count);
  buffer_.erase(0, count);
  return bytes;
}

std::string HttpClient::read_to_end() {
  while (fill()) continue;
  return std::exchange(buffer_, {});
}

bool HttpClient::is_reset() {
  connection_->wait_for(POLLIN);
  char byte = 0;
  return ::recv(connection_->fd, &byte, 1, 0) < 0 && errno == ECONNRESET;
}

bool HttpClient::is_at_end() { return buffer_.empty() && !fill(); }

HttpAnswer HttpClient::read_head() {
  HttpAnswer answer;
  const std::string first = read_line();
  if (first.size() < 12 || !first.starts_with("HTTP/1.") || first[8] != ' ') {
    throw failed(cat("'", first, "' is not a status line"));
  }
  answer.version = first.substr(0, 8);
  answer.status = static_cast<int>(parse_size(std::string_view(first).substr(9, 3), 10));
  for (std::string line = read_line(); !line.empty(); line = read_line()) {
    const size_t colon = line.find(": ");
    if (colon == std::string::npos) throw failed(cat("'", line, "' is not a field"));
    std::string name = line.substr(0, colon);
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    answer.fields.emplace_back(std::move(name), line.substr(colon + 2));
  }
  return answer;
}

std::optional<std::string> HttpClient::read_chunk() {
  const size_t size = parse_size(read_line(), 16);
  std::string chunk = read_bytes(size);
  if (!read_line().empty()) throw failed("a chunk does not end where it should");
  if (size == 0) return std::nullopt;
  return chunk;
}

HttpAnswer HttpClient::read_answer(std::string_view method) {
  HttpAnswer answer = read_head();
  if (method == "HEAD" || answer.status < 200 || answer.status == 204 || answer.status == 304) return answer;
  if (answer.field("transfer-encoding") == "chunked") {
    while (const auto chunk = read_chunk()) answer.body += *chunk;
  } else if (answer.has_field("content-length")) {
    answer.body = read_bytes(parse_size(answer.field("content-length"), 10));
  } else {
    answer.body = read_to_end();
  }
  return answer;
}

std::string HttpClient::certificate() const {
  X509* certificate = SSL_get1_peer_certificate(connection_->ssl);
  unsigned char* bytes = nullptr;
  const int size = i2d_X509(certificate, &bytes);
  const std::string der(reinterpret_cast<const char*>(bytes), static_cast<size_t>(std::max(0, size)));
  OPENSSL_free(bytes);
  X509_free(certificate);
  return der;
}

void HttpClient::finish_sending() {
  if (connection_->ssl) SSL_shutdown(connection_->ssl);
  shutdown(connection_->fd, SHUT_WR);
}

void HttpClient::close() { connection_ = std::make_unique<Connection>(); }

void HttpClient::reset() {
  const linger at_once{1, 0};
  setsockopt(connection_->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
  close();
}

void HttpClient::set_receive_buffer(int bytes) {
  setsockopt(connection_->fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
}

}  // namespace wick
