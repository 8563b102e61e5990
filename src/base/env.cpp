#include "base/env.h"

#include <charconv>
#include <cstdlib>

#include "base/error.h"
#include "base/text.h"

namespace wick {

std::optional<std::string> env_text(const char* name) {
  const char* text = std::getenv(name);
  if (!text || !*text) return std::nullopt;
  return std::string(text);
}

std::optional<int64_t> env_int(const char* name, int64_t min, int64_t max) {
  const auto text = env_text(name);
  if (!text) return std::nullopt;
  int64_t value = 0;
  const char* end = text->data() + text->size();
  const auto [stop, problem] = std::from_chars(text->data(), end, value);
  if (problem != std::errc() || stop != end || value < min || value > max) {
    throw Error(ErrorCode::kInvalidArgument,
                cat(name, "='", *text, "': expected a whole number from ", min, " to ", max));
  }
  return value;
}

}  // namespace wick
