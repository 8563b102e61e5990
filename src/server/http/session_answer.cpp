#include <boost/asio/post.hpp>
#include <utility>

#include "base/text.h"
#include "server/http/session.h"

namespace wick {
namespace {

std::string hex(size_t value) {
  std::string digits;
  for (; value > 0; value >>= 4) digits.insert(digits.begin(), "0123456789abcdef"[value & 15]);
  return digits;
}

}  // namespace

void Session::post(AnswerEvent event) {
  boost::asio::post(executor_, [self = shared_from_this(), event = std::move(event)]() mutable {
    self->on_answer(std::move(event));
  });
}

void Session::on_answer(AnswerEvent event) {
  if (phase_ != Phase::kAnswer) return;
  switch (event.kind) {
    case AnswerEvent::Kind::kSend: return send(std::move(event.response));
    case AnswerEvent::Kind::kBegin: return begin(std::move(event.response));
    case AnswerEvent::Kind::kWrite: return append_chunk(std::move(event.chunk));
    case AnswerEvent::Kind::kFinish: return finish();
    case AnswerEvent::Kind::kUpgrade: return open_web_socket(event.response, std::move(event.listener));
    case AnswerEvent::Kind::kFail:
      if (entry_.status == 0) return send(std::move(event.response));
      return break_off();
    case AnswerEvent::Kind::kDrop: return close();
  }
}

// What is left of a body on its way cannot be told from the next request.
void Session::reject(HttpResponse response) {
  phase_ = Phase::kAnswer;
  clear_deadline();
  ended_ = false;
  keep_alive_ = reader_->keep_alive() && reader_->body_is_complete() && kind_ == Kind::kUsual;
  if (entry_.method.empty()) entry_.method = reader_->request().method;
  reader_->forget_body();
  room_.reset();
  send(std::move(response));
}

std::string Session::head_text(const HttpResponse& response, BodyFraming framing) {
  framing_ = framing;
  entry_.status = response.status;
  keep_alive_ = keep_alive_ && framing != BodyFraming::kToTheEnd && !input_ended_ && !context_.stopping;
  return response_head(response, {entry_.id, framing, keep_alive_}, cors_fields_);
}

void Session::send(HttpResponse response) {
  constexpr int kFirstError = 400;
  const ErrorForm form = route_ ? route_->options.error_form : nullptr;
  if (form && response.status >= kFirstError) response = form(std::move(response));
  queue_.append(head_text(response, may_have_body(response.status) ? BodyFraming::kLength : BodyFraming::kNone));
  if (framing_ != BodyFraming::kNone && !is_head_request_) {
    remember_body(response.body);
    queue_.append(std::move(response.body));
  }
  ended_ = true;
  pump();
}

void Session::begin(HttpResponse head) {
  const BodyFraming framing = !may_have_body(head.status) ? BodyFraming::kNone
                              : reader_->is_http10()      ? BodyFraming::kToTheEnd
                                                          : BodyFraming::kChunks;
  queue_.append(head_text(head, framing));
  append_chunk(std::move(head.body));
}

void Session::append_chunk(std::string chunk) {
  // Asked before adding: a chunk larger than the limit is no sign of a slow client.
  if (queue_.size() + chunk_.size() > limits_.backlog_bytes) return cut_off();
  if (framing_ != BodyFraming::kNone && !is_head_request_) {
    remember_body(chunk);
    if (chunk_.empty()) {
      chunk_ = std::move(chunk);
    } else {
      chunk_ += chunk;
    }
  }
  if (!writing_) frame_chunk();
  pump();
}

void Session::frame_chunk() {
  if (chunk_.empty()) return;
  if (framing_ == BodyFraming::kChunks) {
    queue_.append(cat(hex(chunk_.size()), "\r\n"));
    queue_.append(std::exchange(chunk_, {}));
    queue_.append("\r\n");
  } else {
    queue_.append(std::exchange(chunk_, {}));
  }
}

void Session::finish() {
  frame_chunk();
  if (framing_ == BodyFraming::kChunks && !is_head_request_) queue_.append("0\r\n\r\n");
  ended_ = true;
  pump();
}

// What was written still goes out, but not the mark of the end.
void Session::break_off() {
  frame_chunk();
  keep_alive_ = false;
  is_broken_ = true;
  ended_ = true;
  pump();
}

void Session::pump() {
  if (writing_ || phase_ == Phase::kClosed) return;
  if (queue_.empty()) {
    const bool is_answer = phase_ == Phase::kAnswer;
    if (is_answer) clear_deadline();
    if (ended_ && (is_answer || phase_ == Phase::kWebSocket)) on_answered();
    return;
  }
  writing_ = true;
  if (phase_ == Phase::kAnswer) set_deadline(limits_.stalled_time);
  const std::string_view bytes = queue_.start_write();
  stream_->write_some(boost::asio::buffer(bytes.data(), bytes.size()),
                      [self = shared_from_this()](ErrorCode error, size_t count) { self->on_written(error, count); });
}

void Session::on_written(ErrorCode error, size_t bytes) {
  writing_ = false;
  if (phase_ == Phase::kClosed) return;
  queue_.consume(bytes);
  entry_.bytes_out += bytes;
  if (error) return close();
  if (queue_.empty()) frame_chunk();
  pump();
}

void Session::on_answered() {
  entry_.complete = !is_broken_;
  record();
  forget_link();
  if (is_broken_ && framing_ == BodyFraming::kToTheEnd) return cut_off();  // a plain end would look like the whole
  if (!keep_alive_ || input_ended_ || context_.stopping || web_socket_) return leave();
  phase_ = Phase::kIdle;
  waiting_since_ = Clock::now().time_since_epoch().count();
  set_deadline(limits_.idle_time);
  parse();
  read_more();
}

void Session::leave() {
  phase_ = Phase::kDrain;
  waiting_since_ = Clock::now().time_since_epoch().count();
  buffer_.clear();
  set_deadline(kDrainTime);
  stream_->finish_sending([self = shared_from_this()](ErrorCode) {
    if (self->input_ended_) self->close();
  });
  read_more();
}

void Session::remember_body(std::string_view bytes) {
  if (!context_.options.log || !context_.options.log->wants_bodies()) return;
  const size_t room = RequestLog::kMaxBody - std::min(RequestLog::kMaxBody, entry_.response_body.size());
  entry_.response_body += bytes.substr(0, room);
}

void Session::record() {
  if (std::exchange(is_recorded_, true)) return;
  constexpr int kClientLeft = 499;
  place_.reset();
  entry_.seconds = std::chrono::duration<double>(Clock::now() - started_).count();
  entry_.bytes_in = reader_->bytes() + (web_socket_ ? web_socket_->reader.bytes() : 0);
  if (entry_.status == 0) entry_.status = kClientLeft;
  if (context_.options.log) context_.options.log->write(entry_);
  if (Metrics* metrics = context_.options.metrics.get()) {
    const std::string route(pattern_.empty() ? "other" : pattern_);
    metrics
        ->counter("wick_http_requests_total", "Requests by route and status; 499: the client left first.",
                  {{"route", route}, {"status", cat(entry_.status)}})
        .add();
    metrics
        ->histogram("wick_http_request_seconds", "From the first byte of a request to the last of its answer.",
                    second_buckets(), {{"route", route}})
        .observe(entry_.seconds);
    metrics->counter("wick_http_received_bytes_total", "Bytes of requests.").add(static_cast<double>(entry_.bytes_in));
    metrics->counter("wick_http_sent_bytes_total", "Bytes of answers.").add(static_cast<double>(entry_.bytes_out));
  }
}

void Session::forget_link() {
  if (const auto link = std::exchange(link_, nullptr)) link->settle();
}

}  // namespace wick
