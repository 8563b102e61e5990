#include "engine/text/response_format.h"

namespace wick {

ResponseFormat response_format_of(const TextModel& model, std::string_view prompt, bool with_tools) {
  ResponseFormat format = detect_response_format(model.chat_template()->source(with_tools), prompt);
  const Tokenizer& tokenizer = model.tokenizer();
  const bool silent = format.reasoning_close.empty() && format.tool_calls != ToolCallShape::kHarmony;
  if (silent && tokenizer.id_of("<think>") && tokenizer.id_of("</think>")) {
    format.reasoning_open = "<think>";
    format.reasoning_close = "</think>";
  }
  return format;
}

bool needs_special(const ResponseFormat& format, const Tokenizer& tokenizer) {
  const auto is_control = [&](std::string_view piece) {
    const auto id = piece.empty() ? std::nullopt : tokenizer.id_of(piece);
    return id && tokenizer.is_special(*id);
  };
  if (is_control(format.reasoning_open) || is_control(format.reasoning_close)) return true;
  switch (format.tool_calls) {
    case ToolCallShape::kNone: return false;
    case ToolCallShape::kTagged: return is_control("<tool_call>");
    default: return true;
  }
}

}  // namespace wick
