#include "server/capture_store.h"

#include <algorithm>

namespace wick {

void CaptureStore::drop_front() {
  bytes_ -= items_.front().capture->log->bytes();
  items_.pop_front();
}

void CaptureStore::drop_old(Clock::time_point now) {
  while (!items_.empty() && items_.front().expires <= now) drop_front();
}

void CaptureStore::put(std::string id, std::string owner, StoredCapture capture, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  drop_old(now);
  const int64_t bytes = capture.log->bytes();
  while (!items_.empty() && (bytes_ + bytes > limits_.bytes || items_.size() >= limits_.captures)) drop_front();
  bytes_ += bytes;
  items_.push_back(
      {std::move(id), std::move(owner), std::make_shared<const StoredCapture>(std::move(capture)), now + limits_.kept});
}

std::shared_ptr<const StoredCapture> CaptureStore::find(std::string_view id, std::string_view owner,
                                                        Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  drop_old(now);
  for (const Item& item : items_) {
    if (item.id == id && item.owner == owner) return item.capture;
  }
  return nullptr;
}

bool CaptureStore::remove(std::string_view id, std::string_view owner) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(items_.begin(), items_.end(),
                                  [&](const Item& item) { return item.id == id && item.owner == owner; });
  if (found == items_.end()) return false;
  bytes_ -= found->capture->log->bytes();
  items_.erase(found);
  return true;
}

int64_t CaptureStore::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

}  // namespace wick
