#include "jinja/builtins/text_search.h"

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "jinja/builtins/characters.h"

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

size_t find_text(std::string_view text, std::string_view part, size_t from) {
  if (from > text.size() || text.size() - from < part.size()) return text.npos;
  const std::string_view rest = text.substr(from);
  const void* found = memmem(rest.data(), rest.size(), part.data(), part.size());
  const size_t at = found ? static_cast<size_t>(static_cast<const char*>(found) - rest.data()) : rest.size();
  if (part.size() <= 1) {
    spend_work_on_bytes(at);
  } else {  // linear, but hostile text makes it look at single bytes
    spend_work_on_characters((at + part.size()) * 2);
  }
  return found ? from + at : text.npos;
}

// Backwards in windows that double, each of them turned round: linear, too.
size_t rfind_text(std::string_view text, std::string_view part) {
  const std::string turned_part(part.rbegin(), part.rend());
  std::string turned;
  for (size_t window = 4096 + 2 * part.size();; window *= 2) {
    const std::string_view end = text.substr(text.size() - std::min(window, text.size()));
    spend_work_on_characters(end.size());
    turned.assign(end.rbegin(), end.rend());
    const size_t at = find_text(turned, turned_part);
    if (at != turned.npos) return text.size() - at - part.size();
    if (end.size() == text.size()) return text.npos;
  }
}

int64_t count_text(std::string_view text, std::string_view part) {
  if (part.empty()) {
    spend_work_on_bytes(text.size());
    return count_characters(text) + 1;
  }
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
    spend_work_on_characters(text.size());
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
    const size_t size = text.size();
    if (left) text = strip_left(text);
    if (right) text = strip_right(text);
    spend_work_on_characters(size - text.size());
    return std::string(text);
  }
  if (!characters.is_text()) throw problem("strip arg must be None or str");
  for (size_t size = 0; left && (size = stripped_bytes(text, characters.bytes(), true)) != 0;) {
    spend_work_on_characters(characters.bytes().size());
    text.remove_prefix(size);
  }
  for (size_t size = 0; right && (size = stripped_bytes(text, characters.bytes(), false)) != 0;) {
    spend_work_on_characters(characters.bytes().size());
    text.remove_suffix(size);
  }
  return std::string(text);
}

void add_part(std::vector<std::string_view>& parts, std::string_view part) {
  parts.push_back(part);
  if (parts.size() % 1024 == 0) require_memory(static_cast<int64_t>(parts.size() * (sizeof(Text) + sizeof(Value))));
}

std::vector<std::string_view> split_lines(std::string_view text, bool keep_ends) {
  spend_work_on_characters(text.size());
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
    add_part(lines, text.substr(start, (keep_ends ? end : at) - start));
    start = at = end;
  }
  if (start < text.size()) add_part(lines, text.substr(start));
  return lines;
}

}  // namespace wick::jinja
