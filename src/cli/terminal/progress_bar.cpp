#include "cli/terminal/progress_bar.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/machine.h"
#include "base/text.h"

namespace wick {
namespace {

constexpr int kBarWidth = 24;
constexpr double kTooEarly = 0.5;  // seconds, before which a rate says nothing
constexpr auto kBetween = std::chrono::milliseconds(100);

std::string clock_text(double seconds) {
  const auto whole = static_cast<int64_t>(std::ceil(std::clamp(seconds, 0.0, 359999.0)));
  if (whole >= 3600) return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

std::string rate_of(double rate, ProgressUnit unit) {
  if (unit == ProgressUnit::kSeconds) return fmt::format("{:.3g} times real time", rate);
  const auto whole = static_cast<int64_t>(rate);
  if (unit == ProgressUnit::kBytes) return fmt::format("{:>8}/s", bytes_text(whole));
  return fmt::format("{:>8}/s", cat(whole, unit == ProgressUnit::kRuns ? " runs" : " tokens"));
}

}  // namespace

std::string progress_line(int64_t done, int64_t total, double seconds, std::string_view what, int width,
                          ProgressUnit unit) {
  const double part = total > 0 ? std::clamp(static_cast<double>(done) / static_cast<double>(total), 0.0, 1.0) : 1;
  const auto filled = static_cast<size_t>(part * kBarWidth);
  std::string line = fmt::format("[{:<{}}] {:3.0f} %", std::string(filled, '#'), kBarWidth, std::floor(part * 100));
  if (seconds > kTooEarly && done > 0) {
    const double rate = static_cast<double>(done) / seconds;
    line += fmt::format("  {}  {} left", rate_of(rate, unit), clock_text(static_cast<double>(total - done) / rate));
  }
  line += fmt::format("  {}", what);
  if (line.size() > static_cast<size_t>(std::max(width, 1))) line.resize(static_cast<size_t>(std::max(width, 1)));
  return line;
}

ProgressBar::ProgressBar(int64_t total, ProgressUnit unit, std::chrono::milliseconds quiet)
    : total_(total), unit_(unit), quiet_(quiet), terminal_(Terminal::of_stderr()) {
  visible_ = isatty(STDERR_FILENO) != 0;
}

ProgressBar::~ProgressBar() {
  if (drawn_ != Clock::time_point()) std::fputs("\r\033[K", stderr);
}

void ProgressBar::show(int64_t done, std::string_view what) {
  const auto now = Clock::now();
  if (!visible_ || now - start_ < quiet_ || now - drawn_ < kBetween) return;
  drawn_ = now;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const std::string line = progress_line(done, total_, seconds, what, terminal_.width - 1, unit_);
  std::fputs(cat("\r", line, "\033[K").c_str(), stderr);
  std::fflush(stderr);
}

}  // namespace wick
