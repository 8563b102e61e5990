#include "cli/terminal/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <fmt/core.h>

#include <algorithm>

#include "base/env.h"
#include "base/utf8.h"

namespace wick {
namespace {

const char* escape_code(Colour colour) {
  switch (colour) {
    case Colour::kPlain: return "";
    case Colour::kBold: return "\033[1m";
    case Colour::kDim: return "\033[2m";
    case Colour::kGood: return "\033[32m";
    case Colour::kWarn: return "\033[33m";
    case Colour::kBad: return "\033[31m";
  }
  return "";
}

Terminal terminal_of(int fd) {
  Terminal terminal;
  if (!isatty(fd)) return terminal;
  terminal.colour = !env_text("NO_COLOR") && env_text("TERM").value_or("dumb") != "dumb";
  winsize size{};
  if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) terminal.width = size.ws_col;
  return terminal;
}

}  // namespace

Terminal Terminal::of_stdout() { return terminal_of(STDOUT_FILENO); }
Terminal Terminal::of_stderr() { return terminal_of(STDERR_FILENO); }

std::string Terminal::paint(std::string_view text, Colour wanted) const {
  if (!colour || wanted == Colour::kPlain) return std::string(text);
  return std::string(escape_code(wanted)).append(text).append("\033[0m");
}

int display_width(std::string_view text) {
  int width = 0;
  size_t owed = 0;  // continuation bytes of the code point being read
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool continues = (byte & 0xC0) == 0x80;
    if (continues && owed > 0) {
      --owed;
      continue;
    }
    ++width;
    owed = byte >= 0xF8 ? 0 : byte >= 0xF0 ? 3 : byte >= 0xE0 ? 2 : byte >= 0xC0 ? 1 : 0;
  }
  return width;
}

std::string printable(std::string_view text, int most) {
  constexpr std::string_view kCut = "...";
  std::string out;
  int width = 0;
  size_t cut_at = 0;  // where the text ends if the next piece no longer fits
  while (!text.empty()) {
    const auto first = static_cast<unsigned char>(text[0]);
    const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC0 ? 2 : 1;
    std::string_view piece = text.substr(0, length);
    if (!is_utf8(piece)) piece = text.substr(0, 1);
    // 0x80 to 0x9F are control characters, too: in UTF-8 they begin with 0xC2.
    const bool control = first < 0x20 || first == 0x7F ||
                         (piece.size() == 2 && first == 0xC2 && static_cast<unsigned char>(piece[1]) < 0xA0);
    std::string shown(piece);
    if (control || !is_utf8(piece)) {
      shown.clear();
      for (const char c : piece) {
        if (c == '\n') {
          shown += "\\n";
        } else {
          shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        }
      }
    }
    width += display_width(shown);
    if (width > most) return out.substr(0, cut_at).append(kCut);
    out += shown;
    if (width <= most - static_cast<int>(kCut.size())) cut_at = out.size();
    text.remove_prefix(piece.size());
  }
  return out;
}

std::string Table::text(const Terminal& terminal) const {
  std::vector<int> widths(columns_.size(), 0);
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], display_width(row[i].text));
  }
  std::string out;
  for (const auto& row : rows_) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - display_width(row[i].text), ' ');
      const std::string cell = terminal.paint(row[i].text, row[i].colour);
      if (i > 0) line += "  ";
      line += columns_[i] == Align::kRight ? padding + cell : cell + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

}  // namespace wick
