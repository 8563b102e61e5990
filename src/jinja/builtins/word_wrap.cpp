#include "jinja/builtins/word_wrap.h"

#include <algorithm>

#include "jinja/budget.h"
#include "jinja/builtins/characters.h"

namespace wick::jinja {
namespace {

bool is_blank(std::string_view text) { return strip_left(text).empty(); }
bool fits(std::string_view text, int64_t width) {
  return byte_offset(text, std::max<int64_t>(width, 0)) == text.size();
}
bool is_wrap_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// Words and the white space between them; with hyphens, words end after a hyphen between letters.
std::vector<std::string_view> chunks_of(std::string_view line, bool on_hyphens) {
  spend_work_on_characters(line.size() * 4);
  std::vector<std::string_view> chunks;
  const auto letter = [&](size_t at) {
    return at < line.size() && (static_cast<uint8_t>(line[at]) >= 0x80 || is_alpha(static_cast<uint8_t>(line[at])));
  };
  size_t start = 0;
  for (size_t at = 1; at <= line.size(); ++at) {
    const bool ends = at == line.size() || is_wrap_space(line[at]) != is_wrap_space(line[at - 1]);
    const bool hyphen = on_hyphens && at >= 3 && line[at - 1] == '-' && letter(at - 2) && letter(at - 3) &&
                        letter(at) && letter(at + 1) && at - start >= 3;
    if (!ends && !hyphen) continue;
    chunks.push_back(line.substr(start, at - start));
    start = at;
  }
  require_memory(static_cast<int64_t>(chunks.size() * 64));
  return chunks;
}

}  // namespace

std::vector<std::string> wrap_line(std::string_view line, const WrapOptions& options) {
  if (options.width <= 0) throw problem("invalid width ", options.width, " (must be > 0)");
  std::vector<std::string_view> rest = chunks_of(line, options.break_on_hyphens);
  std::reverse(rest.begin(), rest.end());
  std::vector<std::string> lines;
  while (!rest.empty()) {
    std::vector<std::string_view> current;
    int64_t length = 0;
    if (!lines.empty() && is_blank(rest.back())) rest.pop_back();
    while (!rest.empty() && fits(rest.back(), options.width - length)) {
      length += count_characters(rest.back());
      current.push_back(rest.back());
      rest.pop_back();
    }
    if (!rest.empty() && !fits(rest.back(), options.width)) {
      if (options.break_long_words) {
        const size_t bytes = byte_offset(rest.back(), std::max<int64_t>(options.width - length, 1));
        current.push_back(rest.back().substr(0, bytes));
        rest.back().remove_prefix(bytes);
        if (rest.back().empty()) rest.pop_back();
      } else if (current.empty()) {
        current.push_back(rest.back());
        rest.pop_back();
      }
    }
    if (!current.empty() && is_blank(current.back())) current.pop_back();
    if (current.empty()) continue;
    std::string text;
    for (const std::string_view chunk : current) text += chunk;
    spend_work(2);
    lines.push_back(std::move(text));
  }
  return lines;
}

}  // namespace wick::jinja
