#include "jinja/builtins/local_time.h"

#include <fmt/format.h>

#include <chrono>
#include <ctime>

#include "jinja/budget.h"

namespace wick::jinja {
namespace {

constexpr std::string_view kMonths[] = {"January", "February", "March",     "April",   "May",      "June",
                                        "July",    "August",   "September", "October", "November", "December"};
constexpr std::string_view kDays[] = {"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"};

std::chrono::sys_days days_of(const LocalTime& t) {
  using namespace std::chrono;
  return sys_days(year(t.year) / month(static_cast<unsigned>(t.month)) / day(static_cast<unsigned>(t.day)));
}
int weekday(const LocalTime& t) {  // from Sunday
  return static_cast<int>(std::chrono::weekday(days_of(t)).c_encoding());
}
int day_of_year(const LocalTime& t) {  // from 1
  return static_cast<int>((days_of(t) - days_of({t.year, 1, 1})).count()) + 1;
}
int hour12(const LocalTime& t) { return t.hour % 12 == 0 ? 12 : t.hour % 12; }

struct IsoWeek {
  int year, week;
};
IsoWeek iso_week(const LocalTime& t) {
  const int day = (weekday(t) + 6) % 7;  // from Monday
  const int week = (day_of_year(t) - 1 - day + 10) / 7;
  const auto weeks_of = [](int year) {
    const int first = weekday({year, 1, 1}), last = weekday({year, 12, 31});
    return first == 4 || last == 4 ? 53 : 52;
  };
  if (week < 1) return {t.year - 1, weeks_of(t.year - 1)};
  if (week > weeks_of(t.year)) return {t.year + 1, 1};
  return {t.year, week};
}

struct Directive {
  char letter;
  std::string (*text)(const LocalTime& t);
};
constexpr Directive kDirectives[] = {
    {'a', [](const LocalTime& t) { return std::string(kDays[weekday(t)].substr(0, 3)); }},
    {'A', [](const LocalTime& t) { return std::string(kDays[weekday(t)]); }},
    {'b', [](const LocalTime& t) { return std::string(kMonths[t.month - 1].substr(0, 3)); }},
    {'h', [](const LocalTime& t) { return std::string(kMonths[t.month - 1].substr(0, 3)); }},
    {'B', [](const LocalTime& t) { return std::string(kMonths[t.month - 1]); }},
    {'d', [](const LocalTime& t) { return fmt::format("{:02}", t.day); }},
    {'e', [](const LocalTime& t) { return fmt::format("{:2}", t.day); }},
    {'m', [](const LocalTime& t) { return fmt::format("{:02}", t.month); }},
    {'y', [](const LocalTime& t) { return fmt::format("{:02}", t.year % 100); }},
    {'Y', [](const LocalTime& t) { return fmt::format("{}", t.year); }},
    {'C', [](const LocalTime& t) { return fmt::format("{:02}", t.year / 100); }},
    {'H', [](const LocalTime& t) { return fmt::format("{:02}", t.hour); }},
    {'k', [](const LocalTime& t) { return fmt::format("{:2}", t.hour); }},
    {'I', [](const LocalTime& t) { return fmt::format("{:02}", hour12(t)); }},
    {'l', [](const LocalTime& t) { return fmt::format("{:2}", hour12(t)); }},
    {'M', [](const LocalTime& t) { return fmt::format("{:02}", t.minute); }},
    {'S', [](const LocalTime& t) { return fmt::format("{:02}", t.second); }},
    {'f', [](const LocalTime& t) { return fmt::format("{:06}", t.microsecond); }},
    {'p', [](const LocalTime& t) { return std::string(t.hour < 12 ? "AM" : "PM"); }},
    {'P', [](const LocalTime& t) { return std::string(t.hour < 12 ? "am" : "pm"); }},
    {'j', [](const LocalTime& t) { return fmt::format("{:03}", day_of_year(t)); }},
    {'w', [](const LocalTime& t) { return fmt::format("{}", weekday(t)); }},
    {'u', [](const LocalTime& t) { return fmt::format("{}", weekday(t) == 0 ? 7 : weekday(t)); }},
    {'U', [](const LocalTime& t) { return fmt::format("{:02}", (day_of_year(t) + 6 - weekday(t)) / 7); }},
    {'W', [](const LocalTime& t) { return fmt::format("{:02}", (day_of_year(t) + 6 - (weekday(t) + 6) % 7) / 7); }},
    {'G', [](const LocalTime& t) { return fmt::format("{}", iso_week(t).year); }},
    {'g', [](const LocalTime& t) { return fmt::format("{:02}", iso_week(t).year % 100); }},
    {'V', [](const LocalTime& t) { return fmt::format("{:02}", iso_week(t).week); }},
    {'Z', [](const LocalTime&) { return std::string(); }},
    {'z', [](const LocalTime&) { return std::string(); }},
    {'n', [](const LocalTime&) { return std::string("\n"); }},
    {'t', [](const LocalTime&) { return std::string("\t"); }},
    {'%', [](const LocalTime&) { return std::string("%"); }},
    {'c', [](const LocalTime& t) { return format_time(t, "%a %b %e %H:%M:%S %Y"); }},
    {'x', [](const LocalTime& t) { return format_time(t, "%m/%d/%y"); }},
    {'D', [](const LocalTime& t) { return format_time(t, "%m/%d/%y"); }},
    {'X', [](const LocalTime& t) { return format_time(t, "%H:%M:%S"); }},
    {'T', [](const LocalTime& t) { return format_time(t, "%H:%M:%S"); }},
    {'R', [](const LocalTime& t) { return format_time(t, "%H:%M"); }},
    {'r', [](const LocalTime& t) { return format_time(t, "%I:%M:%S %p"); }},
    {'F', [](const LocalTime& t) { return format_time(t, "%Y-%m-%d"); }},
};

std::string without_padding(const std::string& text) {
  const size_t first = text.find_first_not_of("0 ");
  return first == text.npos ? (text.empty() ? "" : "0") : text.substr(first);
}

}  // namespace

LocalTime local_time_now() {
  const auto now = std::chrono::system_clock::now();
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  std::tm fields{};
  localtime_r(&seconds, &fields);
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(now.time_since_epoch()).count() % 1'000'000;
  return {fields.tm_year + 1900, fields.tm_mon + 1, fields.tm_mday,          fields.tm_hour,
          fields.tm_min,         fields.tm_sec,     static_cast<int>(micros)};
}

std::string format_time(const LocalTime& time, std::string_view format) {
  spend_work(static_cast<int64_t>(format.size()));
  std::string out;
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%' || i + 1 == format.size()) {
      out += format[i];
      continue;
    }
    const bool bare = format[i + 1] == '-' && i + 2 < format.size();
    i += bare ? 2 : 1;
    const Directive* found = nullptr;
    for (const Directive& directive : kDirectives) {
      if (directive.letter == format[i]) found = &directive;
    }
    if (!found) throw problem("strftime_now() does not know the directive '%", format.substr(i, 1), "'");
    const std::string text = found->text(time);
    out += bare ? without_padding(text) : text;
    require_memory(static_cast<int64_t>(out.size()));
  }
  return out;
}

}  // namespace wick::jinja
