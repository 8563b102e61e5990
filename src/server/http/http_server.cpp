#include "server/http/http_server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <atomic>
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

// Each connection takes a file, of which a process often gets 1,024 unless it asks.
void allow_open_files(int connections) {
  constexpr rlim_t kOthers = 512;  // of models, journal, log
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  const rlim_t wanted = std::min(limit.rlim_max, static_cast<rlim_t>(connections) + kOthers);
  if (limit.rlim_cur >= wanted) return;
  limit.rlim_cur = wanted;
  setrlimit(RLIMIT_NOFILE, &limit);
}

asio::ip::address listening_address(const std::string& text) {
  SystemError error;
  const auto address = asio::ip::make_address(text == "localhost" ? "127.0.0.1" : text, error);
  if (!error) return address;
  throw Error(ErrorCode::kInvalidArgument, cat(in_quotes(text), " is not an IPv4 or IPv6 address"));
}

}  // namespace

class HttpServer::Impl {
 public:
  Impl(Router router, HttpServerOptions options);
  ~Impl();

  uint16_t port() const { return port_; }
  std::string url() const;
  bool is_local() const { return address_.is_loopback(); }
  void replace_keys(std::shared_ptr<const ApiKeys> keys);
  void reload_certificate();
  void stop(std::chrono::milliseconds grace);
  void wait();

 private:
  void run();
  void check_options() const;
  void listen();
  // One accept is under way as long as this lives, wherever asio moves it, also when it is lost for want of memory.
  class AcceptTurn {
   public:
    explicit AcceptTurn(std::atomic<bool>& is_accepting) : is_accepting_(&is_accepting) { is_accepting = true; }
    AcceptTurn(AcceptTurn&& other) noexcept : is_accepting_(std::exchange(other.is_accepting_, nullptr)) {}
    AcceptTurn& operator=(AcceptTurn&&) = delete;
    ~AcceptTurn() { end(); }
    void end() {
      if (is_accepting_) *std::exchange(is_accepting_, nullptr) = false;
    }

   private:
    std::atomic<bool>* is_accepting_;
  };
  void accept();
  void keep_accepting() noexcept;
  void on_accepted(const SystemError& error, tcp::socket socket);
  void turn_away(tcp::socket socket);
  std::optional<Session::Kind> make_room(const std::string& client);  // empty: there is none; with the lock held
  template <typename Of>
  bool close_idlest(std::chrono::milliseconds patience, const Of& of);  // the same, of sessions for which that holds
  void forget(Session& session);
  template <typename Act>
  void for_each_session(const Act& act);  // on the executor of each

  HttpServerOptions options_;
  Router router_;
  Cors cors_;
  asio::ip::address address_;
  HostNames hosts_;
  KeyGuard keys_;
  asio::thread_pool workers_, large_body_workers_;
  SessionContext context_;
  Gauge* connections_gauge_ = nullptr;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::unordered_map<Session*, std::shared_ptr<Session>> sessions_;
  std::shared_ptr<asio::ssl::context> tls_;  // null: none
  bool stopped_ = false;
  std::atomic<bool> is_accepting_ = false;

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
      address_(listening_address(options_.address)),
      hosts_(address_, options_.allowed_hosts),
      keys_(options_.keys, options_.limits),
      workers_(static_cast<size_t>(std::max(1, options_.worker_threads))),
      large_body_workers_(static_cast<size_t>(std::max(1, options_.large_body_threads))),
      context_{options_,
               router_,
               cors_,
               hosts_,
               keys_,
               std::make_shared<KeyUse>(),
               workers_,
               large_body_workers_,
               std::make_shared<BodyMemory>(options_.limits),
               {1},
               {false},
               [this](Session& session) { forget(session); }},
      io_(options_.io_threads),
      acceptor_strand_(io_.get_executor()),
      acceptor_(acceptor_strand_),
      accept_again_(acceptor_strand_),
      keep_running_(io_.get_executor()) {
  check_options();
  if (!options_.tls_certificate.empty()) reload_certificate();
  if (options_.metrics) {
    connections_gauge_ = &options_.metrics->gauge("wick_http_connections", "Connections that are open.");
  }
  listen();
  accept();
  for (int i = 0; i < options_.io_threads; ++i) threads_.emplace_back([this] { run(); });
}

HttpServer::Impl::~Impl() {
  stop(std::chrono::milliseconds(0));
  for (asio::thread_pool* workers : {&workers_, &large_body_workers_}) {
    workers->stop();
    workers->join();
  }
  keep_running_.reset();
  io_.stop();
  for (std::thread& thread : threads_) thread.join();
}

// Only a lack of memory gets here; it costs the connection whose turn it was, whose deadline then closes it. What it
// must not cost is the accepting of others.
void HttpServer::Impl::run() {
  for (bool done = false; !done;) {
    try {
      io_.run();
      done = true;
    } catch (...) {
      keep_accepting();
    }
  }
}

void HttpServer::Impl::keep_accepting() noexcept {
  while (!is_accepting_ && !context_.stopping) {
    try {
      asio::post(acceptor_strand_, [this] {
        if (!context_.stopping) accept();
      });
      return;
    } catch (...) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
}

void HttpServer::Impl::check_options() const {
  const auto refuse = [](const std::string& what) { throw Error(ErrorCode::kInvalidArgument, what); };
  const HttpLimits& limits = options_.limits;
  if (options_.io_threads < 1 || options_.io_threads > 64)
    refuse(cat("io threads: ", options_.io_threads, " is not 1 to 64"));
  for (const int threads : {options_.worker_threads, options_.large_body_threads}) {
    if (threads < 1 || threads > 1024) refuse(cat("worker threads: ", threads, " is not 1 to 1024"));
  }
  if (options_.tls_certificate.empty() != options_.tls_key.empty()) refuse("TLS needs a certificate and a key");
  for (const int count : {limits.connections, limits.client_connections}) {
    if (count < 1) refuse(cat("limit of connections: ", count, " is not positive"));
  }
  if (limits.header_bytes < 256) refuse(cat("limit of the header: ", limits.header_bytes, " bytes are too few"));
}

void HttpServer::Impl::listen() {
  allow_open_files(options_.limits.connections + options_.limits.health_connections);
  SystemError error;
  const tcp::endpoint endpoint(address_, options_.port);
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
  return cat(options_.tls_certificate.empty() ? "http://" : "https://", is_v6 ? "[" : "", options_.address,
             is_v6 ? "]:" : ":", port_);
}

void HttpServer::Impl::accept() {
  if (is_accepting_) return;
  AcceptTurn turn(is_accepting_);
  acceptor_.async_accept(
      asio::make_strand(io_),
      asio::bind_executor(acceptor_strand_, [this, turn = std::move(turn)](SystemError error, auto socket) mutable {
        turn.end();
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
    if (const auto kind = make_room(client_key(peer.address()))) {
      auto stream = tls_ ? tls_stream(std::move(socket), tls_) : plain_stream(std::move(socket));
      session = std::make_shared<Session>(context_, std::move(stream), executor, peer.address(), *kind);
      sessions_.emplace(session.get(), session);
    }
  }
  if (!session) return turn_away(std::move(socket));
  if (connections_gauge_) connections_gauge_->add(1);
  try {
    asio::post(executor, [session] { session->start(); });
  } catch (...) {  // it has no deadline yet that would close it
    forget(*session);
    throw;
  }
}

template <typename Of>
bool HttpServer::Impl::close_idlest(std::chrono::milliseconds patience, const Of& of) {
  Session* idlest = nullptr;
  for (const auto& [session, unused] : sessions_) {
    if (of(*session) && (!idlest || session->waiting_since() < idlest->waiting_since())) idlest = session;
  }
  if (!idlest || idlest->waiting_since() > Session::Clock::now() - patience) return false;
  idlest->stop_waiting();
  asio::post(idlest->executor(), [session = idlest->shared_from_this()] { session->cut_off(); });
  return true;
}

std::optional<Session::Kind> HttpServer::Impl::make_room(const std::string& client) {
  using Kind = Session::Kind;
  const HttpLimits& limits = options_.limits;
  if (sessions_.size() < static_cast<size_t>(std::min(limits.connections, limits.client_connections))) {
    return Kind::kUsual;
  }
  std::unordered_map<std::string_view, int> of_client;
  int usual = 0, health = 0;
  for (const auto& [session, unused] : sessions_) {
    ++(session->kind() == Kind::kUsual ? usual : health);
    if (session->kind() == Kind::kUsual) ++of_client[session->client_key()];
  }
  const bool is_greedy = of_client[client] >= limits.client_connections;
  if (!is_greedy && usual < limits.connections) return Kind::kUsual;
  int most = 0;
  for (const auto& [unused, count] : of_client) most = std::max(most, count);
  const auto is_of_greediest = [&](const Session& session) {
    if (session.kind() != Kind::kUsual) return false;
    return is_greedy ? session.client_key() == client : of_client[session.client_key()] == most;
  };
  if (close_idlest(limits.patience, is_of_greediest)) return Kind::kUsual;
  const auto is_health = [](const Session& session) { return session.kind() == Kind::kHealth; };
  const std::chrono::milliseconds none{0};  // the newest is answered before as many others come
  if (health < limits.health_connections || close_idlest(none, is_health)) return Kind::kHealth;
  return std::nullopt;
}

// Best effort: the client may still be sending, and nobody listens to it.
void HttpServer::Impl::turn_away(tcp::socket socket) {
  if (!options_.tls_certificate.empty()) return;
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

void HttpServer::Impl::replace_keys(std::shared_ptr<const ApiKeys> keys) {
  if (!keys != !keys_.asks()) throw Error(ErrorCode::kInvalidArgument, "API keys cannot be turned on or off");
  keys_.replace(std::move(keys));
}

void HttpServer::Impl::reload_certificate() {
  auto context = std::make_shared<asio::ssl::context>(tls_context(options_.tls_certificate, options_.tls_key));
  const std::lock_guard lock(mutex_);
  tls_ = std::move(context);
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
bool HttpServer::is_local() const { return impl_->is_local(); }
void HttpServer::stop(std::chrono::milliseconds grace) { impl_->stop(grace); }
void HttpServer::wait() { impl_->wait(); }
void HttpServer::replace_keys(std::shared_ptr<const ApiKeys> keys) { impl_->replace_keys(std::move(keys)); }
void HttpServer::reload_certificate() { impl_->reload_certificate(); }

}  // namespace wick
