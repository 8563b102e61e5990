#include "base/text.h"

#include <fmt/format.h>

#include <iterator>

namespace wick {

// fmt stays in this file: every message goes through here, and its headers are slow to compile.
void append_number(std::string& out, int64_t value) { fmt::format_to(std::back_inserter(out), "{}", value); }
void append_number(std::string& out, uint64_t value) { fmt::format_to(std::back_inserter(out), "{}", value); }
void append_number(std::string& out, double value) { fmt::format_to(std::back_inserter(out), "{}", value); }
void append_number(std::string& out, float value) { fmt::format_to(std::back_inserter(out), "{}", value); }

}  // namespace wick
