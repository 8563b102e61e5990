#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/json.h"
#include "chat/response.h"
#include "chat/response/shape.h"

namespace wick {

// How a model writes its tool calls.
enum class ToolCallShape {
  kNone,
  kTagged,
  kLlama3,
  kMistral,
  kDeepSeek,
  kHarmony,
  kArgKeys,
  kDsml,
  kMiniMax,
  kKimi,
  kGemma4,
  kLlama4,
  kLfm2
};
constexpr int kToolCallShapes = 13;

// How a model writes reasoning and tool calls; markers are empty when it has none.
struct ResponseFormat {
  ToolCallShape tool_calls = ToolCallShape::kNone;
  std::string reasoning_open, reasoning_close;  // "<think>", "</think>"
  bool starts_in_reasoning = false;             // the prompt has opened the block already
  bool is_reasoning_off = false;                // the prompt has closed it already, or the request wants none
};

// Chosen from the text of the chat template, and from the end of the rendered prompt.
ResponseFormat detect_response_format(std::string_view template_source, std::string_view prompt = {});

// Takes a model's text apart while it streams: reasoning, answer, tool calls. A marker that is cut by the end of a
// piece is held back until it is decided; text that only looks like one is passed on. However the text is cut into
// pieces, the response is the same.
class ResponseParser {
 public:
  // `tools` (the list given to the template, or null) tells which parameters are text where the format does not.
  explicit ResponseParser(const ResponseFormat& format, const Json* tools = nullptr);

  // What the piece added.
  ResponseDelta feed(std::string_view piece);
  // The end of the text: what was held back.
  ResponseDelta finish();

  const Response& response() const { return builder_.response(); }

 private:
  enum class Stage { kBeforeReasoning, kReasoning, kAnswer };
  void run(bool final);
  size_t step(std::string_view text, bool final);

  ResponseFormat format_;
  response::Builder builder_;
  std::unique_ptr<response::Shape> shape_;
  Stage stage_;
  std::string pending_;
};

// The whole text at once.
Response parse_response(std::string_view text, const ResponseFormat& format, const Json* tools = nullptr);

}  // namespace wick
