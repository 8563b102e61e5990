#pragma once

#include <string>
#include <string_view>

#include "chat/response.h"
#include "cli/terminal/word_wrap.h"

namespace wick {

// Writes an answer to standard output while it comes: reasoning dimmed, then the answer, then each tool call as a line
// of JSON. What a model writes cannot control the terminal: other control characters than line breaks and tabs appear
// as \xNN there. A pipe gets the text as it is.
class AnswerPrinter {
 public:
  struct Options {
    bool reasoning = true;  // show it
    bool terminal = false;  // standard output is one
    bool colour = false;
    int width = 0;  // columns to wrap words at; 0: not
  };
  explicit AnswerPrinter(const Options& options) : options_(options), wrap_(options.width) {}

  void add(const ResponseDelta& delta);
  // The last line break, when the text has none.
  void finish();

 private:
  void add_reasoning(std::string_view text);
  void add_content(std::string_view text);
  void write(std::string_view text, bool dimmed = false);
  void end_line();

  Options options_;
  bool reasoned_ = false;  // reasoning was shown, and no answer yet
  bool answered_ = false;
  bool in_call_ = false;
  size_t call_ = 0;
  bool dimmed_ = false;  // the terminal is, now
  WordWrap wrap_;
  char last_ = '\n';
};

// Text as a terminal may show it.
std::string without_controls(std::string_view text);

}  // namespace wick
