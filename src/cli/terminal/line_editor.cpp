#include "cli/terminal/line_editor.h"

#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <utility>

#include "base/ascii.h"
#include "base/text.h"
#include "cli/terminal/terminal.h"

namespace wick {
namespace {

constexpr std::string_view kMore = "  ";  // before the second line and later ones
constexpr std::string_view kPasteOn = "\033[?2004h", kPasteOff = "\033[?2004l";  // pastes come in brackets
volatile std::sig_atomic_t interrupted_between = 0;                              // Ctrl-C while no line was being read

constexpr int kEndings[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

termios original;

// Keys come at once and unchanged; with `signals`, Ctrl-C and Ctrl-Z still act by themselves.
void set_raw(bool signals) {
  termios raw = original;
  raw.c_iflag &= ~static_cast<tcflag_t>(ICRNL | INLCR | IGNCR | IXON);
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | IEXTEN);
  if (!signals) raw.c_lflag &= ~static_cast<tcflag_t>(ISIG);
  raw.c_cc[VMIN] = 1;
  raw.c_cc[VTIME] = 0;
  tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
}

void put_back_and_end(int number) {
  tcsetattr(STDIN_FILENO, TCSANOW, &original);
  [[maybe_unused]] const ssize_t written = ::write(STDOUT_FILENO, kPasteOff.data(), kPasteOff.size());
  std::signal(number, SIG_DFL);
  raise(number);
}

void write_out(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

winsize window() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) size = {};
  if (size.ws_col == 0) size.ws_col = 80;
  if (size.ws_row == 0) size.ws_row = 24;
  return size;
}

}  // namespace

LineEditor::LineEditor(LineHistory& history) : history_(history) {
  tcgetattr(STDIN_FILENO, &original);
  for (const int number : kEndings) std::signal(number, put_back_and_end);
  set_raw(true);
}

LineEditor::~LineEditor() {
  tcsetattr(STDIN_FILENO, TCSADRAIN, &original);
  for (const int number : kEndings) std::signal(number, SIG_DFL);
}

bool LineEditor::next_byte(char& byte) {
  if (waiting_.empty()) {
    char bytes[512];
    ssize_t count = 0;
    do count = ::read(STDIN_FILENO, bytes, sizeof(bytes));
    while (count < 0 && errno == EINTR);
    if (count <= 0) return false;
    waiting_.assign(bytes, static_cast<size_t>(count));
  }
  byte = waiting_.front();
  waiting_.erase(0, 1);
  return true;
}

void LineEditor::draw(const LineBuffer& buffer, std::string_view prompt) {
  const winsize size = window();
  const LineLayout layout = lay_out(prompt, kMore, buffer.text(), buffer.cursor(), size.ws_col);
  // A text higher than the screen shows the part around the cursor.
  const size_t height = std::max<size_t>(size.ws_row, 1);
  const size_t first = layout.cursor_row >= height ? layout.cursor_row - height + 1 : 0;
  const size_t end = std::min(layout.rows.size(), first + height);
  std::string out = "\r";
  if (cursor_row_ > 0) out += cat("\033[", cursor_row_, "A");
  out += "\033[J";
  for (size_t row = first; row < end; ++row) out += cat(row > first ? "\r\n" : "", layout.rows[row]);
  const size_t below = end - 1 - layout.cursor_row;
  out += "\r";
  if (below > 0) out += cat("\033[", below, "A");
  if (layout.cursor_column > 0) out += cat("\033[", layout.cursor_column, "C");
  rows_ = end - first;
  cursor_row_ = layout.cursor_row - first;
  write_out(out);
}

void LineEditor::leave_rows() {
  std::string out;
  if (rows_ > cursor_row_ + 1) out = cat("\033[", rows_ - cursor_row_ - 1, "B");
  write_out(out + "\r\n");
  rows_ = cursor_row_ = 0;
}

// The last words of them, in a row or more below what was typed.
void LineEditor::show_choices(const std::vector<std::string>& choices) {
  leave_rows();
  const auto width = static_cast<size_t>(window().ws_col);
  std::string row;
  for (const std::string& choice : choices) {
    const std::string_view text = trimmed(choice);
    const std::string shown = printable(text.substr(text.find_last_of(' ') + 1));
    if (!row.empty() && row.size() + 2 + shown.size() >= width) write_out(std::exchange(row, "") + "\r\n");
    row += cat(row.empty() ? "" : "  ", shown);
  }
  write_out(row + "\r\n");
}

void LineEditor::suspend() {
  leave_rows();
  tcsetattr(STDIN_FILENO, TCSADRAIN, &original);
  raise(SIGTSTP);
  set_raw(false);
}

void LineEditor::note_interrupts() {
  std::signal(SIGINT, [](int) { interrupted_between = 1; });
}

LineEditor::Line LineEditor::read(std::string_view prompt) {
  set_raw(false);
  if (interrupted_between != 0) {
    interrupted_between = 0;
    set_raw(true);
    return {End::kInterrupt, ""};
  }
  write_out(kPasteOn);
  LineBuffer buffer(history_.entries(), complete_);
  Line line{End::kEndOfInput, ""};
  draw(buffer, prompt);
  char byte = 0;
  for (bool reading = true; reading && next_byte(byte);) {
    const auto key = keys_.feed(byte);
    if (!key) continue;
    switch (buffer.press(*key)) {
      case LineBuffer::Outcome::kEdited: break;
      case LineBuffer::Outcome::kClearScreen:
        write_out("\033[H\033[2J");
        cursor_row_ = 0;
        break;
      case LineBuffer::Outcome::kSuspend: suspend(); break;
      case LineBuffer::Outcome::kChoices: show_choices(buffer.choices()); break;
      case LineBuffer::Outcome::kAccepted: line.end = End::kEnter, reading = false; break;
      case LineBuffer::Outcome::kInterrupted: line.end = End::kInterrupt, reading = false; break;
      case LineBuffer::Outcome::kEnded: reading = false; break;
    }
    if (waiting_.empty() || !reading) draw(buffer, buffer.search_prompt().value_or(std::string(prompt)));
  }
  line.text = buffer.text();
  leave_rows();
  write_out(kPasteOff);
  set_raw(true);
  if (line.end == End::kEnter) history_.add(line.text);
  return line;
}

}  // namespace wick
