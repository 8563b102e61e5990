#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/terminal/key_reader.h"

namespace wick {

// The text being edited, of one or more lines, and where the cursor is. Knows nothing of the terminal.
class LineBuffer {
 public:
  enum class Outcome {
    kEdited,       // text or cursor may have changed
    kAccepted,     // Enter
    kInterrupted,  // Ctrl-C
    kEnded,        // Ctrl-D in an empty text
    kClearScreen,
    kSuspend,
    kChoices,  // Tab, and there are several ways to go on: choices()
  };

  // What a text may go on as, whole: "/he" gives "/help ". None: Tab is a character.
  using Complete = std::function<std::vector<std::string>(std::string_view text)>;

  // `history`, oldest first, must outlive the buffer.
  explicit LineBuffer(const std::vector<std::string>& history, Complete complete = {})
      : history_(history), complete_(std::move(complete)), place_(history.size()) {}

  Outcome press(const Key& key);

  const std::string& text() const { return text_; }
  size_t cursor() const { return cursor_; }  // a byte, at the start of a character
  const std::vector<std::string>& choices() const { return choices_; }
  // While the history is searched, what is to stand in the prompt's place.
  std::optional<std::string> search_prompt() const;

 private:
  size_t left_of(size_t at) const;  // a character further, with the marks that combine with it
  size_t right_of(size_t at) const;
  size_t word_left() const;
  size_t word_right() const;
  size_t line_start() const;
  size_t line_end() const;
  void insert(std::string_view text);
  void erase(size_t begin, size_t end);
  void kill(size_t begin, size_t end);  // erases and keeps for yanking
  void up();
  void down();
  void go_to_line(size_t start);  // in the same column
  void recall(size_t place);
  Outcome enter();
  Outcome tab();
  Outcome press_while_searching(const Key& key);
  void search_from(size_t place);  // backwards, for query_

  const std::vector<std::string>& history_;
  Complete complete_;
  size_t place_;       // in the history; its size: the new text
  std::string draft_;  // the new text while older ones are shown
  std::string text_, killed_;
  size_t cursor_ = 0;
  std::vector<std::string> choices_;
  bool searches_ = false, found_ = true;
  std::string query_, text_before_;
};

// The text as rows of a terminal.
struct LineLayout {
  std::vector<std::string> rows;  // prompts included
  size_t cursor_row = 0;
  int cursor_column = 0;
};
// `prompt` stands before the first line, `more` before the others; no row is wider than `width` columns.
LineLayout lay_out(std::string_view prompt, std::string_view more, std::string_view text, size_t cursor, int width);

}  // namespace wick
