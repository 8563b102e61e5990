#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "cli/terminal.h"

namespace wick {

// One line that is drawn again and again on standard error. Draws nothing when that is not a terminal.
class ProgressBar {
 public:
  explicit ProgressBar(int64_t total_bytes);
  ~ProgressBar();  // removes the line
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // `done` of the total, now at work on `what`. Draws at most ten times a second.
  void show(int64_t done_bytes, std::string_view what);

 private:
  using Clock = std::chrono::steady_clock;

  int64_t total_;
  bool visible_;
  Terminal terminal_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point drawn_{};
};

// "[#####     ]  50 %  12.3 MiB/s  0:05 left  blk.0.attn_q.weight", no wider than `width`.
std::string progress_line(int64_t done_bytes, int64_t total_bytes, double seconds, std::string_view what, int width);

}  // namespace wick
