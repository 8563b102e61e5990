#pragma once

#include <string>
#include <string_view>

namespace wick::jinja {

// A moment of the local clock, without a zone.
struct LocalTime {
  int year = 1970, month = 1, day = 1;  // month and day from 1
  int hour = 0, minute = 0, second = 0, microsecond = 0;
};

LocalTime local_time_now();

// Python's strftime with English names. Throws for a directive it does not know.
std::string format_time(const LocalTime& time, std::string_view format);

}  // namespace wick::jinja
