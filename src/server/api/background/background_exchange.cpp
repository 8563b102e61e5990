#include "server/api/background/background_exchange.h"

#include <utility>

#include "base/error.h"
#include "server/http/error_response.h"

namespace wick {
namespace {

Error no_stream() { return {ErrorCode::kInternal, "a response in the background is not streamed"}; }

}  // namespace

void BackgroundInbox::put(Answer answer) {
  const std::lock_guard lock(mutex_);
  answers_.push_back(std::move(answer));
  news_.notify_one();
}

void BackgroundInbox::wake() {
  const std::lock_guard lock(mutex_);
  is_awake_ = true;
  news_.notify_one();
}

std::vector<BackgroundInbox::Answer> BackgroundInbox::wait(std::chrono::milliseconds most) {
  std::unique_lock lock(mutex_);
  news_.wait_for(lock, most, [&] { return is_awake_ || !answers_.empty(); });
  is_awake_ = false;
  return std::exchange(answers_, {});
}

BackgroundExchange::BackgroundExchange(std::string id, std::shared_ptr<BackgroundInbox> inbox)
    : id_(std::move(id)), inbox_(std::move(inbox)) {}

BackgroundExchange::~BackgroundExchange() {
  if (!is_closed_ && !is_answered_) inbox_->put({id_, error_response(500, "The request got no answer.")});
}

void BackgroundExchange::close() {
  std::function<void()> callback;
  {
    const std::lock_guard lock(mutex_);
    if (is_closed_ || is_answered_) return;
    is_closed_ = true;
    callback.swap(on_close_);
  }
  if (callback) callback();
}

void BackgroundExchange::send(HttpResponse response) {
  {
    const std::lock_guard lock(mutex_);
    if (is_closed_ || is_answered_) return;
    is_answered_ = true;
    on_close_ = nullptr;
  }
  inbox_->put({id_, std::move(response)});
}

void BackgroundExchange::begin(HttpResponse) { throw no_stream(); }
void BackgroundExchange::write(std::string) { throw no_stream(); }
void BackgroundExchange::finish() { throw no_stream(); }

void BackgroundExchange::on_close(std::function<void()> callback) {
  {
    const std::lock_guard lock(mutex_);
    if (is_answered_) return;
    if (!is_closed_) {
      on_close_ = std::move(callback);
      return;
    }
  }
  callback();
}

bool BackgroundExchange::is_closed() const {
  const std::lock_guard lock(mutex_);
  return is_closed_;
}

}  // namespace wick
