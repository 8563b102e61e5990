#include "cli/microscope/token_label.h"

#include <fmt/core.h>

#include "base/utf8.h"
#include "cli/terminal/char_width.h"
#include "tokenizer/stages/code_points.h"

namespace wick {
namespace {

constexpr char32_t kControlPictures = 0x2400, kDeletePicture = 0x2421;

void append_visible(std::string& out, char32_t value) {
  const uint8_t sets = char_sets_of(value);
  if (value < 0x20) {
    append_utf8(out, kControlPictures + value);
  } else if (value == 0x7F) {
    append_utf8(out, kDeletePicture);
  } else if (value >= 0x80 && (sets & (kOthers | kSpaces)) != 0) {
    out += fmt::format("\\u{{{:X}}}", static_cast<uint32_t>(value));
  } else {
    if (out.empty() && (sets & kMarks) != 0) out += "◌";  // a mark needs something to stand on
    append_utf8(out, value);
  }
}

// `special` gives the text for a blank, a line end or a tab.
template <typename Special>
std::string visible(std::string_view bytes, Special&& special) {
  std::string out;
  for (size_t at = 0; at < bytes.size();) {
    const Utf8Part part = utf8_part_at(bytes, at);
    const char first = bytes[at];
    if (first == ' ' || first == '\n' || first == '\t') {
      out += special(first);
    } else if (part.valid) {
      append_visible(out, code_point_at(bytes, at).value);
    } else {
      for (uint32_t i = 0; i < part.bytes; ++i) {
        out += fmt::format("\\x{:02X}", static_cast<unsigned char>(bytes[at + i]));
      }
    }
    at += part.bytes;
  }
  return out;
}

}  // namespace

std::string token_label(std::string_view bytes) {
  return visible(bytes, [](char c) { return c == ' ' ? "·" : c == '\n' ? "⏎" : "⇥"; });
}

std::string visible_passage(std::string_view text) {
  return visible(text, [](char c) { return std::string_view(c == ' ' ? " " : c == '\n' ? "\n" : "\t"); });
}

int text_columns(std::string_view text) {
  int columns = 0;
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = code_point_at(text, at);
    columns += char_width(point.value);
    at += point.bytes;
  }
  return columns;
}

std::string fit_columns(std::string_view text, int columns) {
  if (text_columns(text) <= columns) return std::string(text);
  std::string out;
  int used = 0;
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = code_point_at(text, at);
    const int width = char_width(point.value);
    if (used + width > columns - 1) break;
    used += width;
    out.append(text, at, point.bytes);
    at += point.bytes;
  }
  return columns > 0 ? out + "…" : out;
}

}  // namespace wick
