#include "server/http/session.h"

#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <utility>

#include "base/text.h"
#include "base/utf8.h"
#include "server/http/error_response.h"
#include "server/websocket/web_socket_handshake.h"

namespace wick {
namespace {

namespace asio = boost::asio;

constexpr size_t kReadAtOnce = 16 << 10;
constexpr size_t kReadAtOnceOfBody = 64 << 10;
constexpr size_t kMaxPipelined = 64 << 10;  // read ahead while a request is being answered

}  // namespace

Session::Session(SessionContext& context, std::unique_ptr<ByteStream> stream, asio::any_io_executor executor,
                 const asio::ip::address& client, Kind kind)
    : context_(context),
      limits_(context.options.limits),
      stream_(std::move(stream)),
      executor_(executor),
      client_(client.to_string()),
      client_key_(wick::client_key(client)),
      kind_(kind),
      waiting_since_(Clock::now().time_since_epoch().count()),
      timer_(executor) {}

void Session::start() {
  set_deadline(kind_ == Kind::kHealth ? std::min(limits_.header_time, kHealthTime) : limits_.header_time);
  stream_->handshake([self = shared_from_this(), this](ErrorCode error) {
    if (phase_ == Phase::kClosed) return;
    if (error || context_.stopping) return close();
    phase_ = Phase::kIdle;
    read_more();
  });
}

void Session::read_more() {
  if (reading_ || input_ended_ || phase_ == Phase::kClosed) return;
  if (phase_ == Phase::kAnswer && buffer_.size() >= kMaxPipelined) return;
  if (has_too_much_to_hear()) return;
  reading_ = true;
  const auto room =
      buffer_.prepare(phase_ == Phase::kBody || phase_ == Phase::kWebSocket ? kReadAtOnceOfBody : kReadAtOnce);
  stream_->read_some(room, [self = shared_from_this()](ErrorCode error, size_t bytes) { self->on_read(error, bytes); });
}

void Session::on_read(ErrorCode error, size_t bytes) {
  reading_ = false;
  if (phase_ == Phase::kClosed) return;
  buffer_.commit(bytes);
  if (error) return on_client_end(error);
  switch (phase_) {
    case Phase::kAnswer: break;
    case Phase::kWebSocket: read_frames(); break;
    case Phase::kDrain:
      drained_ += bytes;
      buffer_.clear();
      if (drained_ > limits_.body_bytes) return cut_off();
      break;
    default: parse();
  }
  read_more();
}

// An end without an error may also be a client that has closed its sending half and waits for the answer. It cannot be
// told from one that has gone until something is sent to it.
void Session::on_client_end(ErrorCode error) {
  input_ended_ = true;
  const bool may_listen = error == asio::error::eof && phase_ == Phase::kAnswer;
  if (!may_listen) return close();
  if (link_) link_->client_left();
}

void Session::parse() {
  if (phase_ == Phase::kIdle) {
    while (buffer_.size() > 0) {  // blank lines before a request do not count
      const char first = *static_cast<const char*>(buffer_.data().data());
      if (first != '\r' && first != '\n') break;
      buffer_.consume(1);
    }
    if (buffer_.size() == 0) return;
    phase_ = Phase::kHeader;
    if (kind_ == Kind::kUsual) set_deadline(limits_.header_time);
    reader_.emplace(limits_);
    room_ = context_.body_memory->room(client_key_);
    route_ = nullptr;
    pattern_ = {};
    cors_fields_.clear();
    entry_ = {};
    entry_.time = std::chrono::system_clock::now();
    entry_.id = context_.next_id++;
    entry_.client = client_;
    entry_.complete = false;
    started_ = Clock::now();
    is_recorded_ = false;
    is_head_request_ = false;
    is_broken_ = false;
  }
  while (phase_ == Phase::kHeader || phase_ == Phase::kBody) {
    switch (reader_->read(buffer_)) {
      case RequestReader::Step::kMore:
        if (phase_ == Phase::kBody) has_room();
        return;
      case RequestReader::Step::kBad: return reject(reader_->problem());
      case RequestReader::Step::kHead: on_head(); break;
      case RequestReader::Step::kWhole: on_request(); break;
    }
  }
}

void Session::on_head() {
  HttpRequest& request = reader_->request();
  request.id = entry_.id;
  request.client = client_;
  request.caller.name = client_key_;
  entry_.method = request.method;
  entry_.path = request.path;
  is_head_request_ = request.method == "HEAD";
  const Router::Match match = context_.router.find(request.method, request.path);
  route_ = match.route;
  pattern_ = match.pattern;
  cors_fields_ = context_.cors.fields(request);
  if (!is_admitted(match)) return;
  if (reader_->body_is_complete()) return on_request();
  phase_ = Phase::kBody;
  body_end_ = Clock::now() + limits_.body_time;
  set_body_deadline();
  if (reader_->awaits_continue() && buffer_.size() == 0) {
    queue_.append("HTTP/1.1 100 Continue\r\n\r\n");
    pump();
  }
}

bool Session::is_admitted(const Router::Match& match) {
  HttpRequest& request = reader_->request();
  if (const auto host = request.header("host"); host && !context_.hosts.has(*host)) {
    reject(error_response(403,
                          cat("This server does not answer to the name ", in_quotes(*host),
                              "; it was started without --allow-host for it."),
                          {}, {}, "host_not_allowed"));
    return false;
  }
  if (request.method == "OPTIONS" && (request.path == "*" || !match.pattern.empty())) {
    HttpResponse response;
    response.status = 204;
    response.headers = context_.cors.preflight_fields(request, match.allowed);
    response.headers.emplace_back("Allow", match.pattern.empty() ? "GET, HEAD, POST, OPTIONS" : match.allowed);
    reject(std::move(response));
    return false;
  }
  if (match.pattern.empty()) {
    reject(error_response(404, cat("There is nothing at ", in_quotes(request.path), "."), {}, {}, "not_found"));
    return false;
  }
  if (!match.route) {
    HttpResponse response = error_response(
        405, cat(in_quotes(request.path), " takes ", match.allowed, " but not ", in_quotes(request.method), "."));
    response.headers.emplace_back("Allow", match.allowed);
    reject(std::move(response));
    return false;
  }
  return may_ask(match) && has_key(*match.route);
}

bool Session::may_ask(const Router::Match& match) {
  const HttpRequest& request = reader_->request();
  const RouteOptions& options = match.route->options;
  if (kind_ == Kind::kHealth && !(options.quick && options.is_public)) {
    HttpResponse response = error_response(503, "The server has as many connections as it may have.");
    response.headers.emplace_back("Retry-After", "1");
    reject(std::move(response));
    return false;
  }
  const bool is_safe = request.method == "GET" || request.method == "HEAD";
  if (!is_safe && !context_.cors.admits(request)) {
    reject(error_response(403,
                          cat("Requests from pages of ", in_quotes(request.header("origin").value_or("other sites")),
                              " are not allowed here; the server was started without --cors for them."),
                          {}, {}, "origin_not_allowed"));
    return false;
  }
  const std::string_view encoding = request.header("content-encoding").value_or("identity");
  if (encoding != "identity") {
    HttpResponse response = error_response(
        415, cat("Bodies in the encoding ", in_quotes(encoding), " are not read here; send them as they are."), {}, {},
        "unsupported_content_encoding");
    response.headers.emplace_back("Accept-Encoding", "identity");
    reject(std::move(response));
    return false;
  }
  return true;
}

bool Session::has_key(const Route& route) {
  HttpRequest& request = reader_->request();
  if (!context_.keys.asks() || route.options.is_public) return true;
  std::string_view token = bearer_token(request.header("authorization").value_or(""));
  if (token.empty()) token = request.header("x-api-key").value_or("");
  if (token.empty() && route.web_socket) token = protocol_key(request);
  const KeyGuard::Answer answer = context_.keys.look(client_key_, token);
  entry_.key_name = answer.name;
  if (answer.verdict == KeyGuard::Verdict::kRight) {
    request.caller = {cat("key ", answer.name), answer.name, answer.limits, context_.key_use};
    return has_place(request.caller);
  }
  if (answer.verdict == KeyGuard::Verdict::kTooMany) {
    HttpResponse response = error_response(429, "Too many wrong API keys came from this address; try again later.", {},
                                           {}, "too_many_wrong_keys");
    response.headers.emplace_back("Retry-After", cat(answer.wait.count()));
    reject(std::move(response));
    return false;
  }
  HttpResponse response = error_response(
      401,
      token.empty() ? "An API key is needed: send 'Authorization: Bearer <key>'." : "The API key is not known here.",
      {}, {}, "invalid_api_key");
  response.headers.emplace_back("WWW-Authenticate", "Bearer");
  reject(std::move(response));
  return false;
}

bool Session::has_place(const Caller& caller) {
  KeyUse::Begun begun = context_.key_use->begin(caller.key, caller.limits);
  place_ = std::move(begun.place);
  if (place_) return true;
  HttpResponse response = error_response(429, begun.refusal, {}, {}, "rate_limit_exceeded");
  response.headers.emplace_back("Retry-After", cat(begun.wait.count()));
  reject(std::move(response));
  return false;
}

bool Session::has_room() {
  if (room_->resize(reader_->body_bytes())) return true;
  HttpResponse response =
      error_response(503, "The server holds as many large bodies as it may; come back later.", {}, {}, "overloaded");
  response.headers.emplace_back("Retry-After", "1");
  reject(std::move(response));
  return false;
}

void Session::on_request() {
  if (!has_room()) return;
  phase_ = Phase::kAnswer;
  stop_waiting();
  clear_deadline();
  keep_alive_ = reader_->keep_alive() && kind_ == Kind::kUsual;
  ended_ = false;
  auto request = std::make_shared<HttpRequest>(std::move(reader_->request()));
  request->room = std::exchange(room_, nullptr);
  if (context_.options.log && context_.options.log->wants_bodies()) {
    entry_.request_body = request->body.substr(0, RequestLog::kMaxBody);
  }
  link_ = std::make_shared<AnswerLink>(shared_from_this());
  if (route_->web_socket) return ask_for_web_socket(request);
  if (route_->options.quick) return run_handler(route_->handler, *request, link_);
  const bool is_large = request->body.size() > limits_.large_body_bytes;
  asio::post(is_large ? context_.large_body_workers : context_.workers,
             [route = route_, request, link = link_] { run_handler(route->handler, *request, link); });
}

void Session::shut_down() {
  const bool is_idle = phase_ == Phase::kHandshake || (phase_ == Phase::kIdle && buffer_.size() == 0);
  if (is_idle) close();
  if (phase_ == Phase::kWebSocket) say_goodbye(WebSocketClose::kGoingAway, "The server is shutting down.");
}

void Session::close() {
  if (phase_ == Phase::kClosed) return;
  const auto self = shared_from_this();
  phase_ = Phase::kClosed;
  timer_.cancel();
  stream_->close();
  record();
  if (const auto link = std::exchange(link_, nullptr)) link->cut();
  if (web_socket_) end_web_socket(WebSocketClose::kLost);
  if (listener_is_done_) context_.closed(*this);
}

void Session::cut_off() {
  if (phase_ != Phase::kClosed) stream_->reset();
  close();
}

void Session::set_deadline(std::chrono::milliseconds time) {
  deadline_ = Clock::now() + time;
  if (deadline_ < armed_for_) arm_timer(deadline_);
}

// For the whole body, and until then for as much of it as its least rate makes.
void Session::set_body_deadline() {
  bytes_before_ = reader_->bytes();
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(body_end_ - Clock::now());
  set_deadline(std::min(limits_.rate_time, left));
}

// The timer runs to the earliest deadline asked for and looks again then: moving a deadline back costs nothing.
void Session::arm_timer(Clock::time_point time) {
  armed_for_ = time;
  timer_.expires_at(time);
  timer_.async_wait([weak = weak_from_this()](ErrorCode error) {
    const auto self = weak.lock();
    if (!self || error || self->phase_ == Phase::kClosed) return;
    self->armed_for_ = Clock::time_point::max();
    if (self->deadline_ <= Clock::now()) return self->on_deadline();
    if (self->deadline_ != Clock::time_point::max()) self->arm_timer(self->deadline_);
  });
}

void Session::on_deadline() {
  clear_deadline();
  switch (phase_) {
    case Phase::kHeader:
      return reject(error_response(408, cat("The header took longer than ", limits_.header_time.count(), " ms.")));
    case Phase::kBody: {
      const auto came = static_cast<double>(reader_->bytes() - bytes_before_);
      const double seconds = std::chrono::duration<double>(limits_.rate_time).count();
      if (Clock::now() < body_end_ && came < static_cast<double>(limits_.body_rate) * seconds) {
        return reject(error_response(408, cat("The body came slower than ", limits_.body_rate, " bytes per second.")));
      }
      if (Clock::now() < body_end_) return set_body_deadline();
      return reject(error_response(408, cat("The body took longer than ", limits_.body_time.count(), " ms.")));
    }
    case Phase::kAnswer: return cut_off();
    case Phase::kWebSocket: return on_silence();
    default: return close();
  }
}

}  // namespace wick
