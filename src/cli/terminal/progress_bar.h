#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "cli/terminal/terminal.h"

namespace wick {

enum class ProgressUnit : uint8_t { kBytes, kTokens, kSeconds, kRuns };

// One line that is drawn again and again on standard error. Draws nothing when that is not a terminal.
class ProgressBar {
 public:
  static constexpr std::chrono::milliseconds kQuiet{500};  // for work that is often over at once

  // Work that is done before `quiet` has passed shows no bar at all.
  explicit ProgressBar(int64_t total, ProgressUnit unit = ProgressUnit::kBytes, std::chrono::milliseconds quiet = {});
  ~ProgressBar();  // removes the line
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // For work of which more turns up on the way.
  void set_total(int64_t total) { total_ = total; }
  // `done` of the total, now at work on `what`. Draws at most ten times a second.
  void show(int64_t done, std::string_view what);

 private:
  using Clock = std::chrono::steady_clock;

  int64_t total_;
  ProgressUnit unit_;
  std::chrono::milliseconds quiet_;
  bool visible_;
  Terminal terminal_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point drawn_{};
};

// "[#####     ]  50 %  12.3 MiB/s  0:05 left  blk.0.attn_q.weight", no wider than `width`.
std::string progress_line(int64_t done, int64_t total, double seconds, std::string_view what, int width,
                          ProgressUnit unit = ProgressUnit::kBytes);

}  // namespace wick
