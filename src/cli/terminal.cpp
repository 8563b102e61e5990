#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "base/env.h"

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

}  // namespace

Terminal Terminal::of_stdout() {
  Terminal terminal;
  if (!isatty(STDOUT_FILENO)) return terminal;
  terminal.colour = !env_text("NO_COLOR") && env_text("TERM").value_or("dumb") != "dumb";
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) terminal.width = size.ws_col;
  return terminal;
}

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
