#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace wick {

// The variable's text; empty when it is not set or is the empty string.
std::optional<std::string> env_text(const char* name);

// The variable as a whole number in [min, max]; empty when not set.
// Throws Error(kInvalidArgument) naming the variable and its text when it is anything else.
std::optional<int64_t> env_int(const char* name, int64_t min, int64_t max);

}  // namespace wick
