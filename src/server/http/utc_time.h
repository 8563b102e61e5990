#pragma once

#include <chrono>
#include <string>

namespace wick {

// As RFC 3339 has it, with so many digits of the second (0 to 9): "2026-03-01T12:00:00.123Z".
std::string utc_time(std::chrono::system_clock::time_point time, int digits);

}  // namespace wick
