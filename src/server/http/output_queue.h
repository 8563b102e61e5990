#pragma once

#include <deque>
#include <string>
#include <string_view>

namespace wick {

// Bytes on their way to a socket that takes them a piece at a time. Small ones are joined, so that a busy socket gets
// few large pieces.
class OutputQueue {
 public:
  void append(std::string bytes);

  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }
  // The next bytes to write. They stay where they are until consume(), which tells how many of them were taken.
  std::string_view start_write();
  void consume(size_t bytes);

 private:
  static constexpr size_t kJoinBelow = 64 << 10;

  std::deque<std::string> parts_;
  size_t sent_ = 0;  // of the first part
  size_t size_ = 0;
  bool writing_ = false;
};

}  // namespace wick
