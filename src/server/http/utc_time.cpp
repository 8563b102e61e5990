#include "server/http/utc_time.h"

#include <fmt/format.h>

#include <ctime>

namespace wick {

std::string utc_time(std::chrono::system_clock::time_point time, int digits) {
  const auto whole = std::chrono::floor<std::chrono::seconds>(time);
  const std::time_t seconds = whole.time_since_epoch().count();
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  char date[32];
  std::strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &utc);
  if (digits == 0) return fmt::format("{}Z", date);
  const auto nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(time - whole).count();
  return fmt::format("{}.{}Z", date, fmt::format("{:09}", nanoseconds).substr(0, static_cast<size_t>(digits)));
}

}  // namespace wick
