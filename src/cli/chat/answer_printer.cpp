#include "cli/chat/answer_printer.h"

#include <fmt/core.h>

#include <cstdio>

#include "base/json_write.h"
#include "base/text.h"

namespace wick {

std::string without_controls(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0xFF;
    const bool is_c1 = byte == 0xC2 && next < 0xA0;  // 0x80 to 0x9F in UTF-8
    if ((byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7F) {
      out += fmt::format("\\x{:02x}", byte);
    } else if (is_c1) {
      out += fmt::format("\\x{:02x}", next);
      ++i;
    } else {
      out += text[i];
    }
  }
  return out;
}

void AnswerPrinter::write(std::string_view text, bool dimmed) {
  if (text.empty()) return;
  last_ = text.back();
  std::string shown;
  if (options_.colour && dimmed != dimmed_) shown = dimmed ? "\033[2m" : "\033[0m";
  dimmed_ = dimmed;
  shown += options_.terminal ? wrap_.add(without_controls(text)) : std::string(text);
  std::fwrite(shown.data(), 1, shown.size(), stdout);
}

void AnswerPrinter::end_line() {
  if (last_ != '\n') write("\n");
}

void AnswerPrinter::add_reasoning(std::string_view text) {
  if (!options_.reasoning) return;
  if (!reasoned_) text.remove_prefix(std::min(text.find_first_not_of("\r\n"), text.size()));
  if (text.empty()) return;
  reasoned_ = true;
  write(text, true);
}

void AnswerPrinter::add_content(std::string_view text) {
  // Blank lines before the answer belong to the reasoning; so does the one that parts them.
  if (!answered_) text.remove_prefix(std::min(text.find_first_not_of("\r\n"), text.size()));
  if (text.empty()) return;
  if (!answered_ && reasoned_) {
    end_line();
    write("\n");
  }
  answered_ = true;
  write(text);
}

void AnswerPrinter::add(const ResponseDelta& delta) {
  add_reasoning(delta.reasoning);
  add_content(delta.content);
  for (const ToolCallDelta& part : delta.tool_calls) {
    if (!in_call_ || part.index != call_) {
      if (in_call_) write("}");
      end_line();
      std::string name;
      append_json_text(name, part.name);
      write(cat("{\"name\": ", name, ", \"arguments\": "));
      in_call_ = true;
      call_ = part.index;
    }
    write(part.arguments);
  }
  std::fflush(stdout);
}

void AnswerPrinter::finish() {
  if (in_call_) write("}");
  in_call_ = false;
  end_line();
  if (options_.colour && dimmed_) std::fputs("\033[0m", stdout);
  dimmed_ = false;
  std::fflush(stdout);
}

}  // namespace wick
