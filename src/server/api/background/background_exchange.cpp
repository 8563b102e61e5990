#include "server/api/background/background_exchange.h"

#include <utility>

#include "base/error.h"
#include "server/http/error_response.h"

namespace wick {
namespace {

Error no_stream() { return {ErrorCode::kInternal, "a response in the background is not streamed"}; }

}  // namespace

void BackgroundInbox::put(Answers answer) noexcept {
  const std::lock_guard lock(mutex_);
  answers_.splice(answers_.end(), answer);
  news_.notify_one();
}

void BackgroundInbox::wake() {
  const std::lock_guard lock(mutex_);
  is_awake_ = true;
  news_.notify_one();
}

void BackgroundInbox::wait(std::chrono::milliseconds most, Answers& answers) {
  std::unique_lock lock(mutex_);
  news_.wait_for(lock, most, [&] { return is_awake_ || !answers_.empty(); });
  is_awake_ = false;
  answers.splice(answers.end(), answers_);
}

BackgroundExchange::BackgroundExchange(const std::string& id, std::shared_ptr<BackgroundInbox> inbox)
    : inbox_(std::move(inbox)) {
  answer_.push_back({id, error_response(500, "The request got no answer.")});
}

BackgroundExchange::~BackgroundExchange() {
  if (!is_closed_ && !answer_.empty()) inbox_->put(std::move(answer_));
}

void BackgroundExchange::close() {
  std::function<void()> callback;
  {
    const std::lock_guard lock(mutex_);
    if (is_closed_ || answer_.empty()) return;
    is_closed_ = true;
    callback.swap(on_close_);
  }
  if (callback) callback();
}

void BackgroundExchange::send(HttpResponse response) {
  const std::lock_guard lock(mutex_);
  if (is_closed_ || answer_.empty()) return;
  answer_.front().response = std::move(response);
  inbox_->put(std::exchange(answer_, {}));
  on_close_ = nullptr;
}

void BackgroundExchange::begin(HttpResponse) { throw no_stream(); }
void BackgroundExchange::write(std::string) { throw no_stream(); }
void BackgroundExchange::finish() { throw no_stream(); }

void BackgroundExchange::on_close(std::function<void()> callback) {
  {
    const std::lock_guard lock(mutex_);
    if (answer_.empty()) return;
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
