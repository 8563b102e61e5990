#include "server/http/output_queue.h"

#include <utility>

namespace wick {

void OutputQueue::append(std::string bytes) {
  if (bytes.empty()) return;
  size_ += bytes.size();
  const bool last_is_still = !parts_.empty() && !(writing_ && parts_.size() == 1);
  if (last_is_still && parts_.back().size() + bytes.size() <= kJoinBelow) {
    parts_.back() += bytes;
  } else {
    parts_.push_back(std::move(bytes));
  }
}

std::string_view OutputQueue::start_write() {
  writing_ = true;
  return std::string_view(parts_.front()).substr(sent_);
}

void OutputQueue::consume(size_t bytes) {
  writing_ = false;
  size_ -= bytes;
  sent_ += bytes;
  if (sent_ == parts_.front().size()) {
    parts_.pop_front();
    sent_ = 0;
  }
}

}  // namespace wick
