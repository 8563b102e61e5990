#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "tokenizer/span.h"

namespace wick {

// A regular expression of a tokenizer file. The files are written for Oniguruma; what PCRE2 reads differently (\s, \w,
// \h, names of categories, intersections of classes) is rewritten. Thread-safe.
class Regex {
 public:
  // `place` names the field in messages. Throws Error(kBadFile) with the position of the mistake.
  Regex(std::string_view pattern, const std::string& place);
  // Text to be found as it is.
  static Regex literal(std::string_view text, const std::string& place);
  ~Regex();
  Regex(Regex&& other) noexcept;
  Regex& operator=(Regex&& other) noexcept;

  // The first match that starts at or after `from`; the text is valid UTF-8. Throws Error(kUnsupported) when the
  // expression needs too many steps on this text.
  std::optional<Span> find(std::string_view text, uint32_t from) const;

 private:
  struct Code;
  Regex() = default;
  void compile(const std::string& pattern, std::string_view written, const std::string& place);
  std::unique_ptr<const Code> code_;
};

// The pattern as PCRE2 wants it. Throws Error(kBadFile).
std::string translate_pattern(std::string_view pattern, const std::string& place);

}  // namespace wick
