#include "server/http/http_server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"
#include "server/http/error_response.h"
#include "server/http/session.h"
#include "server/http/tls_context.h"

namespace wick {

namespace asio = boost::asio;
using asio::ip::tcp;
using SystemError = boost::system::error_code;

namespace {

// A client whose machine or network went away sends no end. After a minute of silence the system asks it three times.
void notice_lost_peers(tcp::socket& socket) {
  SystemError ignored;
  socket.set_option(asio::socket_base::keep_alive(true), ignored);
#ifdef TCP_KEEPIDLE
  const auto set = [&](int option, int value) {
    setsockopt(socket.native_handle(), IPPROTO_TCP, option, &value, sizeof(value));
  };
  set(TCP_KEEPIDLE, 60);
  set(TCP_KEEPINTVL, 10);
  set(TCP_KEEPCNT, 3);
#endif
}

}  // namespace

class HttpServer::Impl {
 public:
  Impl(Router router, HttpServerOptions options);
  ~Impl();

  uint16_t port() const { return port_; }
  std::string url() const;
  void stop(std::chrono::milliseconds grace);
  void wait();

 private:
  void run();
  void check_options() const;
  void listen();
  void accept();
  void on_accepted(const SystemError& error, tcp::socket socket);
  void turn_away(tcp::socket socket);
  void forget(Session& session);
  template <typename Act>
  void for_each_session(const Act& act);  // on the executor of each

  HttpServerOptions options_;
  Router router_;
  Cors cors_;
  std::optional<asio::ssl::context> tls_;
  asio::thread_pool workers_;
  SessionContext context_;
  Gauge* connections_gauge_ = nullptr;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::unordered_map<Session*, std::shared_ptr<Session>> sessions_;
  bool stopped_ = false;

  asio::io_context io_;  // goes before what its handlers use
  asio::strand<asio::io_context::executor_type> acceptor_strand_;
  tcp::acceptor acceptor_;
  asio::steady_timer accept_again_;
  asio::executor_work_guard<asio::io_context::executor_type> keep_running_;
  uint16_t port_ = 0;
  std::vector<std::thread> threads_;
};

HttpServer::Impl::Impl(Router router, HttpServerOptions options)
    : options_(std::move(options)),
      router_(std::move(router)),
      cors_(options_.cors_origins),
      workers_(static_cast<size_t>(std::max(1, options_.worker_threads))),
      context_{options_, router_, cors_, workers_, {1}, {false}, [this](Session& session) { forget(session); }},
      io_(options_.io_threads),
      acceptor_strand_(io_.get_executor()),
      acceptor_(acceptor_strand_),
      accept_again_(acceptor_strand_),
      keep_running_(io_.get_executor()) {
  check_options();
  if (!options_.tls_certificate.empty()) tls_ = tls_context(options_.tls_certificate, options_.tls_key);
  if (options_.metrics) {
    connections_gauge_ = &options_.metrics->gauge("wick_http_connections", "Connections that are open.");
  }
  listen();
  accept();
  for (int i = 0; i < options_.io_threads; ++i) threads_.emplace_back([this] { run(); });
}

HttpServer::Impl::~Impl() {
  stop(std::chrono::milliseconds(0));
  workers_.stop();
  workers_.join();
  keep_running_.reset();
  io_.stop();
  for (std::thread& thread : threads_) thread.join();
}

// Only a lack of memory gets here; it costs the connection whose turn it was, whose deadline then closes it.
void HttpServer::Impl::run() {
  for (bool done = false; !done;) {
    try {
      io_.run();
      done = true;
    } catch (...) {
      continue;
    }
  }
}

void HttpServer::Impl::check_options() const {
  const auto refuse = [](const std::string& what) { throw Error(ErrorCode::kInvalidArgument, what); };
  const HttpLimits& limits = options_.limits;
  if (options_.io_threads < 1 || options_.io_threads > 64)
    refuse(cat("io threads: ", options_.io_threads, " is not 1 to 64"));
  if (options_.worker_threads < 1 || options_.worker_threads > 1024) {
    refuse(cat("worker threads: ", options_.worker_threads, " is not 1 to 1024"));
  }
  if (options_.tls_certificate.empty() != options_.tls_key.empty()) refuse("TLS needs a certificate and a key");
  if (limits.connections < 1) refuse(cat("limit of connections: ", limits.connections, " is not positive"));
  if (limits.header_bytes < 256) refuse(cat("limit of the header: ", limits.header_bytes, " bytes are too few"));
}

void HttpServer::Impl::listen() {
  SystemError error;
  const auto address = asio::ip::make_address(options_.address == "localhost" ? "127.0.0.1" : options_.address, error);
  if (error) {
    throw Error(ErrorCode::kInvalidArgument, cat(in_quotes(options_.address), " is not an IPv4 or IPv6 address"));
  }
  const tcp::endpoint endpoint(address, options_.port);
  const auto check = [&](std::string_view what) {
    if (error) {
      throw Error(ErrorCode::kIo,
                  cat("cannot ", what, " ", options_.address, ":", options_.port, ": ", error.message()));
    }
  };
  acceptor_.open(endpoint.protocol(), error);
  check("open");
  acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
  acceptor_.bind(endpoint, error);
  check("bind to");
  acceptor_.listen(asio::socket_base::max_listen_connections, error);
  check("listen on");
  port_ = acceptor_.local_endpoint().port();
}

std::string HttpServer::Impl::url() const {
  const bool is_v6 = options_.address.find(':') != std::string::npos;
  return cat(tls_ ? "https://" : "http://", is_v6 ? "[" : "", options_.address, is_v6 ? "]:" : ":", port_);
}

void HttpServer::Impl::accept() {
  acceptor_.async_accept(asio::make_strand(io_),
                         asio::bind_executor(acceptor_strand_, [this](SystemError error, auto socket) {
                           on_accepted(error, tcp::socket(std::move(socket)));
                         }));
}

void HttpServer::Impl::on_accepted(const SystemError& error, tcp::socket socket) {
  if (context_.stopping) return;
  if (error) {  // out of file descriptors, say: trying again at once would spin
    accept_again_.expires_after(std::chrono::milliseconds(50));
    accept_again_.async_wait([this](SystemError cancelled) {
      if (!cancelled && !context_.stopping) accept();
    });
    return;
  }
  accept();
  SystemError ignored;
  const auto peer = socket.remote_endpoint(ignored);
  socket.set_option(tcp::no_delay(true), ignored);
  notice_lost_peers(socket);
  const auto executor = socket.get_executor();
  std::shared_ptr<Session> session;
  {
    const std::lock_guard lock(mutex_);
    if (context_.stopping) return;
    if (sessions_.size() < static_cast<size_t>(options_.limits.connections)) {
      auto stream = tls_ ? tls_stream(std::move(socket), *tls_) : plain_stream(std::move(socket));
      session = std::make_shared<Session>(context_, std::move(stream), executor, peer.address().to_string());
      sessions_.emplace(session.get(), session);
    }
  }
  if (!session) return turn_away(std::move(socket));
  if (connections_gauge_) connections_gauge_->add(1);
  asio::post(executor, [session] { session->start(); });
}

// Best effort: the client may still be sending, and nobody listens to it.
void HttpServer::Impl::turn_away(tcp::socket socket) {
  if (tls_) return;
  const HttpResponse response = error_response(503, "The server has as many connections as it may have.");
  SystemError ignored;
  socket.non_blocking(true, ignored);
  const std::string text =
      cat(response_head(response, {0, BodyFraming::kLength, false}, {{"Retry-After", "1"}}), response.body);
  socket.write_some(asio::buffer(text), ignored);
  socket.shutdown(tcp::socket::shutdown_both, ignored);
}

void HttpServer::Impl::forget(Session& session) {
  if (connections_gauge_) connections_gauge_->add(-1);
  const std::lock_guard lock(mutex_);
  sessions_.erase(&session);
  changed_.notify_all();
}

template <typename Act>
void HttpServer::Impl::for_each_session(const Act& act) {
  const std::lock_guard lock(mutex_);
  for (const auto& [unused, session] : sessions_) {
    asio::post(session->executor(), [act, session = session] { act(*session); });
  }
}

void HttpServer::Impl::stop(std::chrono::milliseconds grace) {
  const auto deadline = std::chrono::steady_clock::now() + grace;
  {
    const std::lock_guard lock(mutex_);
    context_.stopping = true;
  }
  asio::post(acceptor_strand_, [this] {
    SystemError ignored;
    acceptor_.close(ignored);
    accept_again_.cancel();
  });
  for_each_session([](Session& session) { session.shut_down(); });
  {
    std::unique_lock lock(mutex_);
    changed_.wait_until(lock, deadline, [this] { return sessions_.empty(); });
  }
  for_each_session([](Session& session) { session.close(); });
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return sessions_.empty(); });
  stopped_ = true;
  changed_.notify_all();
}

void HttpServer::Impl::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return stopped_; });
}

HttpServer::HttpServer(Router router, HttpServerOptions options)
    : impl_(std::make_unique<Impl>(std::move(router), std::move(options))) {}
HttpServer::~HttpServer() = default;
uint16_t HttpServer::port() const { return impl_->port(); }
std::string HttpServer::url() const { return impl_->url(); }
void HttpServer::stop(std::chrono::milliseconds grace) { impl_->stop(grace); }
void HttpServer::wait() { impl_->wait(); }

}  // namespace wick
