#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/terminal/line_buffer.h"
#include "cli/terminal/line_history.h"

namespace wick {

// Reads texts from a terminal, with editing. While it lives, what is typed does not appear by itself: it waits for the
// next read(). The terminal is put back at the end, whatever ends the program. One at a time; standard input and output
// must be a terminal.
class LineEditor {
 public:
  explicit LineEditor(LineHistory& history);
  // What Tab goes on with.
  void set_completion(LineBuffer::Complete complete) { complete_ = std::move(complete); }
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  enum class End { kEnter, kInterrupt, kEndOfInput };
  struct Line {
    End end;
    std::string text;
  };
  // From now on Ctrl-C between two lines counts as the first key of the next one.
  static void note_interrupts();
  // The next text; it becomes part of the history.
  Line read(std::string_view prompt);

 private:
  bool next_byte(char& byte);
  void draw(const LineBuffer& buffer, std::string_view prompt);
  void leave_rows();  // puts the cursor below what was drawn
  void suspend();
  void show_choices(const std::vector<std::string>& choices);

  LineHistory& history_;
  LineBuffer::Complete complete_;
  KeyReader keys_;
  std::string waiting_;               // bytes that were read and not used
  size_t rows_ = 0, cursor_row_ = 0;  // as drawn
};

}  // namespace wick
