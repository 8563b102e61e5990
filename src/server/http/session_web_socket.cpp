#include <boost/asio/post.hpp>
#include <utility>

#include "base/text.h"
#include "server/http/error_response.h"
#include "server/http/session.h"
#include "server/websocket/web_socket_handshake.h"

namespace wick {
namespace {

constexpr size_t kMessageCost = 128;  // what one that waits takes beside its bytes

std::string sentence_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& known) {
    return known.what();
  } catch (...) {
    return "The web socket failed for a reason without a name.";
  }
}

}  // namespace

void Session::ask_for_web_socket(const std::shared_ptr<const HttpRequest>& request) {
  std::optional<HttpResponse> refusal = web_socket_refusal(*request, reader_->is_http10());
  if (!refusal && !context_.cors.admits(*request)) {
    refusal = error_response(403, "Web sockets from pages of this origin are not allowed here.");
  }
  if (refusal) {
    forget_link();
    return send(std::move(*refusal));
  }
  boost::asio::post(context_.workers, [route = route_, request, link = link_] {
    run_handler(route->web_socket, *request, web_socket_acceptance(*request, route->options.protocol), link);
  });
}

void Session::open_web_socket(const HttpResponse& head, std::shared_ptr<WebSocketListener> listener) {
  if (input_ended_) return close();
  forget_link();
  queue_.append(head_text(head, BodyFraming::kNone));
  const auto link = std::make_shared<WebSocketLink>(shared_from_this());
  web_socket_.emplace(OpenWebSocket{WebSocketReader(limits_.message_bytes), std::move(listener), link,
                                    boost::asio::make_strand(context_.workers.get_executor())});
  listener_is_done_ = false;
  room_ = context_.body_memory->room(client_key_);
  phase_ = Phase::kWebSocket;
  if (Metrics* metrics = context_.options.metrics.get()) metrics->gauge("wick_web_sockets", "That are open.").add(1);
  tell(0, [link](WebSocketListener& hears) { hears.on_open(link); });
  pump();
  if (context_.stopping) return shut_down();
  set_deadline(limits_.silent_time);
  read_frames();
  read_more();
}

// Calls follow each other on the strand, so that the listener hears everything in order.
void Session::tell(size_t bytes, std::function<void(WebSocketListener&)> call) {
  const size_t cost = bytes + kMessageCost;
  web_socket_->unheard += cost;
  boost::asio::post(web_socket_->strand,
                    [self = shared_from_this(), listener = web_socket_->listener, call = std::move(call), cost] {
                      std::string problem;
                      try {
                        call(*listener);
                      } catch (...) {
                        problem = sentence_of(std::current_exception());
                        if (problem.empty()) problem = "The web socket failed.";
                      }
                      boost::asio::post(self->executor_, [self, cost, problem = std::move(problem)] {
                        self->web_socket_->unheard -= cost;
                        self->room_->resize(self->web_socket_->reader.held_bytes() + self->web_socket_->unheard);
                        if (!problem.empty()) self->say_goodbye(WebSocketClose::kServerError, problem);
                        self->read_more();
                      });
                    });
}

bool Session::has_too_much_to_hear() const {
  return phase_ == Phase::kWebSocket && web_socket_->unheard > limits_.backlog_bytes;
}

void Session::read_frames() {
  using Step = WebSocketReader::Step;
  OpenWebSocket& socket = *web_socket_;
  while (phase_ == Phase::kWebSocket && !ended_) {
    const Step step = socket.reader.read(buffer_);
    if (step != Step::kBad) {
      socket.awaits_sign = false;
      set_deadline(limits_.silent_time);
    }
    switch (step) {
      case Step::kMore:
        if (!room_->resize(socket.reader.held_bytes() + socket.unheard)) {
          say_goodbye(WebSocketClose::kTryLater, "The server holds as many large messages as it may.");
          break;
        }
        return;
      case Step::kText:
      case Step::kBinary: {
        ++socket.messages_in;
        auto message = std::make_shared<std::string>(std::move(socket.reader.payload()));
        tell(message->size(), [message, step](WebSocketListener& listener) {
          return step == Step::kText ? listener.on_text(std::move(*message)) : listener.on_binary(std::move(*message));
        });
        break;
      }
      case Step::kPing: send_frame(FrameKind::kPong, socket.reader.payload()); break;
      case Step::kPong: break;
      case Step::kClose: say_goodbye(socket.reader.close_code(), {}); break;
      case Step::kBad: say_goodbye(socket.reader.close_code(), socket.reader.problem()); break;
    }
  }
  buffer_.clear();  // behind a goodbye nothing counts
}

void Session::post_message(FrameKind kind, std::string payload) {
  boost::asio::post(executor_, [self = shared_from_this(), kind, payload = std::move(payload)]() mutable {
    if (self->phase_ != Phase::kWebSocket || self->ended_) return;
    ++self->web_socket_->messages_out;
    self->send_frame(kind, std::move(payload));
  });
}

void Session::post_close(uint16_t code, std::string reason) {
  boost::asio::post(executor_,
                    [self = shared_from_this(), code, reason = std::move(reason)] { self->say_goodbye(code, reason); });
}

void Session::send_frame(FrameKind kind, std::string payload) {
  // Asked before adding: a message larger than the limit is no sign of a slow client.
  if (queue_.size() > limits_.backlog_bytes) {
    return say_goodbye(WebSocketClose::kPolicy, "The client does not read what is sent to it.");
  }
  queue_.append(frame_head(kind, payload.size()));
  queue_.append(std::move(payload));
  pump();
}

// A goodbye is the last that is sent, whoever says it first. What the client sends until it closes is not looked at.
void Session::say_goodbye(uint16_t code, std::string_view reason) {
  if (phase_ != Phase::kWebSocket || ended_) return;
  queue_.append(close_frame(code, reason));
  ended_ = true;
  set_deadline(std::min(kDrainTime, limits_.stalled_time));
  end_web_socket(code);
  pump();
}

void Session::end_web_socket(uint16_t code) {
  OpenWebSocket& socket = *web_socket_;
  if (std::exchange(socket.has_ended, true)) return;
  socket.link->cut();
  tell(0, [code](WebSocketListener& listener) { listener.on_close(code); });
  // Behind that on the strand, and then behind what it has posted here.
  boost::asio::post(socket.strand, [self = shared_from_this()] {
    boost::asio::post(self->executor_, [self] {
      self->web_socket_->listener.reset();
      self->listener_is_done_ = true;
      if (self->phase_ == Phase::kClosed) self->context_.closed(*self);
    });
  });
  if (Metrics* metrics = context_.options.metrics.get()) {
    constexpr std::string_view kHelp = "Messages of web sockets that have ended.";
    metrics->gauge("wick_web_sockets", "That are open.").add(-1);
    metrics->counter("wick_web_socket_messages_total", kHelp, {{"direction", "in"}})
        .add(static_cast<double>(socket.messages_in));
    metrics->counter("wick_web_socket_messages_total", kHelp, {{"direction", "out"}})
        .add(static_cast<double>(socket.messages_out));
  }
}

void Session::on_silence() {
  if (ended_) return cut_off();
  if (has_too_much_to_hear()) return set_deadline(limits_.silent_time);
  if (std::exchange(web_socket_->awaits_sign, true)) return cut_off();
  set_deadline(limits_.silent_time);
  send_frame(FrameKind::kPing, {});
}

}  // namespace wick
