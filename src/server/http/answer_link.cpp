#include "server/http/answer_link.h"

#include <exception>
#include <utility>

#include "base/text.h"
#include "server/http/error_response.h"

namespace wick {
namespace {

class LinkedExchange : public HttpExchange {
 public:
  explicit LinkedExchange(std::shared_ptr<AnswerLink> link) : link_(std::move(link)) {}
  ~LinkedExchange() override { link_->drop(); }

  void send(HttpResponse response) override { link_->send(std::move(response)); }
  void begin(HttpResponse head) override { link_->begin(std::move(head)); }
  void write(std::string chunk) override { link_->write(std::move(chunk)); }
  void finish() override { link_->finish(); }
  void on_close(std::function<void()> callback) override { link_->on_close(std::move(callback)); }
  bool is_closed() const override { return link_->is_closed(); }

 private:
  std::shared_ptr<AnswerLink> link_;
};

// The client has gone and the handler has returned: nobody is left to hear of an exception.
void call(const std::function<void()>& callback) {
  try {
    callback();
  } catch (...) {
    return;
  }
}

}  // namespace

void AnswerLink::send(HttpResponse response) {
  Callback unused;  // dropped after the lock: it may hold the last reference to anything
  const std::lock_guard lock(mutex_);
  if (!sink_) return;
  if (state_ != State::kOpen) return misused("sent an answer after beginning one", unused);
  end_with({AnswerEvent::Kind::kSend, std::move(response), {}}, unused);
}

void AnswerLink::begin(HttpResponse head) {
  Callback unused;
  const std::lock_guard lock(mutex_);
  if (!sink_) return;
  if (state_ != State::kOpen) return misused("began an answer twice", unused);
  state_ = State::kStreaming;
  sink_->post({AnswerEvent::Kind::kBegin, std::move(head), {}});
}

void AnswerLink::write(std::string chunk) {
  Callback unused;
  const std::lock_guard lock(mutex_);
  if (!sink_ || chunk.empty()) return;
  if (state_ != State::kStreaming) return misused("wrote before beginning an answer", unused);
  sink_->post({AnswerEvent::Kind::kWrite, {}, std::move(chunk)});
}

void AnswerLink::finish() {
  Callback unused;
  const std::lock_guard lock(mutex_);
  if (!sink_) return;
  if (state_ != State::kStreaming) return misused("finished before beginning an answer", unused);
  end_with({AnswerEvent::Kind::kFinish, {}, {}}, unused);
}

void AnswerLink::upgrade(HttpResponse head, std::shared_ptr<WebSocketListener> listener) {
  Callback unused;
  const std::lock_guard lock(mutex_);
  if (!sink_) return;
  end_with({AnswerEvent::Kind::kUpgrade, std::move(head), {}, std::move(listener)}, unused);
}

void AnswerLink::fail(HttpResponse response) {
  Callback unused;
  const std::lock_guard lock(mutex_);
  if (!sink_) return;
  end_with({AnswerEvent::Kind::kFail, std::move(response), {}}, unused);
}

void AnswerLink::drop() {
  Callback unused;
  const std::lock_guard lock(mutex_);
  if (!sink_) return;
  if (client_left_) return end_with({AnswerEvent::Kind::kDrop, {}, {}}, unused);
  misused("dropped the request without an answer", unused);
}

void AnswerLink::misused(std::string_view what, Callback& unused) {
  end_with({AnswerEvent::Kind::kFail, error_response(500, cat("The handler ", what, ".")), {}}, unused);
}

void AnswerLink::end_with(AnswerEvent event, Callback& unused) {
  state_ = State::kAnswered;
  unused = std::exchange(on_close_, nullptr);
  sink_->post(std::move(event));
  sink_.reset();
}

void AnswerLink::on_close(Callback callback) {
  {
    const std::lock_guard lock(mutex_);
    if (state_ == State::kAnswered) return;
    if (!client_left_) {
      on_close_ = std::move(callback);
      return;
    }
  }
  call(callback);
}

bool AnswerLink::is_closed() const {
  const std::lock_guard lock(mutex_);
  return client_left_;
}

void AnswerLink::client_left() { leave(true); }
void AnswerLink::cut() { leave(false); }

void AnswerLink::leave(bool keep_sink) {
  Callback callback;
  std::shared_ptr<AnswerSink> sink;  // dropped after the lock
  {
    const std::lock_guard lock(mutex_);
    client_left_ = true;
    callback = std::exchange(on_close_, nullptr);
    if (!keep_sink) sink = std::exchange(sink_, nullptr);
  }
  if (callback) call(callback);
}

std::shared_ptr<HttpExchange> linked_exchange(std::shared_ptr<AnswerLink> link) {
  return std::make_shared<LinkedExchange>(std::move(link));
}

void run_handler(const HttpHandler& handler, const HttpRequest& request, const std::shared_ptr<AnswerLink>& link) {
  const auto exchange = linked_exchange(link);  // outlives the handler, so that an exception finds it unanswered
  try {
    handler(request, exchange);
  } catch (...) {
    link->fail(error_response(std::current_exception()));
  }
}

void run_handler(const WebSocketHandler& handler, const HttpRequest& request, HttpResponse head,
                 const std::shared_ptr<AnswerLink>& link) {
  try {
    link->upgrade(std::move(head), handler(request));
  } catch (...) {
    link->fail(error_response(std::current_exception()));
  }
}

}  // namespace wick
