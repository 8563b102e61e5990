#include "text/jinja/text_search.h"

#include <algorithm>

#include "base/checked.h"
#include "text/jinja/characters.h"

namespace wick::jinja {
namespace {

bool is_line_end(char32_t code) {
  return (code >= 0x0A && code <= 0x0D) || (code >= 0x1C && code <= 0x1E) || code == 0x85 || code == 0x2028 ||
         code == 0x2029;
}

// A character of the set at the front or back; 0 when there is none.
size_t stripped_bytes(std::string_view text, std::string_view set, bool front) {
  for (const std::string_view character : Characters(set)) {
    if (front ? text.starts_with(character) : text.ends_with(character)) return character.size();
  }
  return 0;
}

}  // namespace

// std::string::find is quadratic on hostile input (aaa...b in aaa...): the work is charged as it is done.
size_t find_text(std::string_view text, std::string_view part, size_t from) {
  if (part.size() <= 1 || from > text.size()) {
    spend_work_on_bytes(text.size() - std::min(from, text.size()));
    return text.find(part, from);
  }
  constexpr size_t kWindow = 1 << 16;
  for (size_t at = from; at + part.size() <= text.size(); at += kWindow) {
    const size_t end = std::min(text.size(), at + kWindow + part.size() - 1);
    const std::string_view window = text.substr(at, end - at);
    size_t first = 0, tried = 0;
    while ((first = window.find(part[0], first)) != window.npos && first + part.size() <= window.size()) {
      const auto differs = std::mismatch(part.begin(), part.end(), window.begin() + static_cast<std::ptrdiff_t>(first));
      if (differs.first == part.end()) {
        spend_work_on_bytes(first + tried);
        return at + first;
      }
      tried += static_cast<size_t>(differs.first - part.begin());
      if (tried > kWindow) {
        spend_work_on_bytes(tried);
        tried = 0;
      }
      ++first;
    }
    spend_work_on_bytes(window.size() + tried);
  }
  return text.npos;
}

size_t rfind_text(std::string_view text, std::string_view part) {
  for (size_t end = text.size(); end >= part.size(); --end) {
    if (text.substr(end - part.size(), part.size()) == part) return end - part.size();
    if (end % 16 == 0) spend_work_on_bytes(part.size());
    if (end == 0) break;
  }
  return text.npos;
}

int64_t count_text(std::string_view text, std::string_view part) {
  if (part.empty()) return count_characters(text) + 1;
  int64_t count = 0;
  for (size_t at = 0; (at = find_text(text, part, at)) != text.npos; at += part.size()) ++count;
  return count;
}

std::string replace_text(std::string_view text, std::string_view old_text, std::string_view new_text, int64_t count) {
  std::string out;
  if (count < 0) count = static_cast<int64_t>(text.size()) + 1;
  if (old_text.empty()) {
    const auto copies = std::min(count, count_characters(text) + 1);
    const auto bytes = checked_mul(copies, static_cast<int64_t>(new_text.size()));
    require_memory(bytes ? *bytes : INT64_MAX);
    for (const std::string_view character : Characters(text)) {
      if (count-- > 0) out += new_text;
      out += character;
    }
    if (count > 0) out += new_text;
    return out;
  }
  size_t at = 0;
  for (size_t found = 0; count-- > 0 && (found = find_text(text, old_text, at)) != text.npos;) {
    require_memory(static_cast<int64_t>(out.size() + new_text.size()));
    out += text.substr(at, found - at);
    out += new_text;
    at = found + old_text.size();
  }
  out += text.substr(std::min(at, text.size()));
  return out;
}

std::string strip_text(const Value& value, const Value& characters, bool left, bool right) {
  std::string_view text = value.bytes();
  if (characters.is_undefined()) use_of_undefined(characters);
  if (characters.is_none()) {
    if (left) text = strip_left(text);
    if (right) text = strip_right(text);
    return std::string(text);
  }
  if (!characters.is_text()) throw problem("strip arg must be None or str");
  spend_work_on_bytes(text.size());
  for (size_t size = 0; left && (size = stripped_bytes(text, characters.bytes(), true)) != 0;) {
    spend_work_on_bytes(characters.bytes().size());
    text.remove_prefix(size);
  }
  for (size_t size = 0; right && (size = stripped_bytes(text, characters.bytes(), false)) != 0;) {
    spend_work_on_bytes(characters.bytes().size());
    text.remove_suffix(size);
  }
  return std::string(text);
}

std::vector<std::string_view> split_lines(std::string_view text, bool keep_ends) {
  std::vector<std::string_view> lines;
  size_t start = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t size = character_bytes(text.substr(at));
    if (!is_line_end(code_point(text.substr(at, size)))) {
      at += size;
      continue;
    }
    const bool two = text[at] == '\r' && at + 1 < text.size() && text[at + 1] == '\n';
    const size_t end = at + (two ? 2 : size);
    lines.push_back(text.substr(start, (keep_ends ? end : at) - start));
    start = at = end;
  }
  if (start < text.size()) lines.push_back(text.substr(start));
  require_memory(static_cast<int64_t>(lines.size() * 128));
  return lines;
}

}  // namespace wick::jinja
