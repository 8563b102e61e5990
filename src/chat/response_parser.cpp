#include "chat/response_parser.h"

#include <algorithm>

#include "chat/response/markers.h"

namespace wick {
namespace {

using response::Shape;

struct ShapeSign {
  std::string_view text;  // in the template
  ToolCallShape shape;
};
// The first that is found wins.
constexpr ShapeSign kSigns[] = {
    {"<|channel|>", ToolCallShape::kHarmony},
    {"｜DSML｜", ToolCallShape::kDsml},
    {"<｜tool▁calls▁begin｜>", ToolCallShape::kDeepSeek},
    {"<｜tool▁call▁begin｜>", ToolCallShape::kDeepSeek},
    {"<|tool_call_argument_begin|>", ToolCallShape::kKimi},
    {"<|tool_call>call:", ToolCallShape::kGemma4},
    {"<|python_start|>", ToolCallShape::kLlama4},
    {"<|tool_call_start|>", ToolCallShape::kLfm2},
    {"[TOOL_CALLS]", ToolCallShape::kMistral},
    {"<minimax:tool_call>", ToolCallShape::kMiniMax},
    {"<arg_key>", ToolCallShape::kArgKeys},
    {"<tool_call>", ToolCallShape::kTagged},
    {"<function=", ToolCallShape::kTagged},
    {"<|python_tag|>", ToolCallShape::kLlama3},
    {"\"parameters\": ", ToolCallShape::kLlama3},
};

struct ReasoningMarkers {
  std::string_view open, close;
};
constexpr ReasoningMarkers kReasoning[] = {{"<think>", "</think>"},
                                           {"[THINK]", "[/THINK]"},
                                           {"<seed:think>", "</seed:think>"},
                                           {"<|channel>thought", "<channel|>"}};

std::unique_ptr<Shape> make_shape(ToolCallShape shape, const Json* tools) {
  switch (shape) {
    case ToolCallShape::kTagged: return response::make_tagged_shape(tools);
    case ToolCallShape::kLlama3: return response::make_llama3_shape();
    case ToolCallShape::kMistral: return response::make_mistral_shape();
    case ToolCallShape::kDeepSeek: return response::make_deepseek_shape();
    case ToolCallShape::kHarmony: return response::make_harmony_shape();
    case ToolCallShape::kArgKeys: return response::make_arg_key_shape(tools);
    case ToolCallShape::kDsml: return response::make_dsml_shape();
    case ToolCallShape::kMiniMax: return response::make_minimax_shape(tools);
    case ToolCallShape::kKimi: return response::make_kimi_shape();
    case ToolCallShape::kGemma4: return response::make_gemma4_shape(tools);
    case ToolCallShape::kLlama4: return response::make_llama4_shape(tools);
    case ToolCallShape::kLfm2: return response::make_lfm2_shape(tools);
    case ToolCallShape::kNone: break;
  }
  return response::make_plain_shape();
}

}  // namespace

ResponseFormat detect_response_format(std::string_view template_source, std::string_view prompt) {
  ResponseFormat format;
  for (const ShapeSign& sign : kSigns) {
    if (template_source.find(sign.text) == std::string_view::npos) continue;
    format.tool_calls = sign.shape;
    break;
  }
  if (format.tool_calls == ToolCallShape::kHarmony) return format;
  for (const ReasoningMarkers& markers : kReasoning) {
    // Templates that cut earlier reasoning out mention only the closing marker.
    if (template_source.find(markers.close) == std::string_view::npos) continue;
    format.reasoning_open = markers.open;
    format.reasoning_close = markers.close;
    const std::string_view end = prompt.substr(0, prompt.find_last_not_of(" \t\r\n") + 1);
    format.starts_in_reasoning = end.ends_with(markers.open);
    format.is_reasoning_off = end.ends_with(markers.close);
    break;
  }
  return format;
}

ResponseParser::ResponseParser(const ResponseFormat& format, const Json* tools)
    : format_(format), shape_(make_shape(format.tool_calls, tools)) {
  stage_ = format.reasoning_close.empty() ? Stage::kAnswer
           : format.starts_in_reasoning   ? Stage::kReasoning
                                          : Stage::kBeforeReasoning;
}

size_t ResponseParser::step(std::string_view text, bool final) {
  if (stage_ == Stage::kAnswer) return shape_->consume(text, final, builder_);
  if (stage_ == Stage::kReasoning) {
    const response::MarkerHit hit = response::find_marker(text, {format_.reasoning_close}, final);
    builder_.add_reasoning(text.substr(0, hit.at));
    if (hit.which < 0) return hit.at;
    stage_ = Stage::kAnswer;
    return hit.at + format_.reasoning_close.size();
  }
  const size_t space = response::leading_space(text);
  const auto starts = response::starts_with_marker(text.substr(space), format_.reasoning_open, final);
  if (starts == response::Starts::kUnknown) return 0;
  stage_ = starts == response::Starts::kYes ? Stage::kReasoning : Stage::kAnswer;
  return starts == response::Starts::kYes ? space + format_.reasoning_open.size() : space;
}

void ResponseParser::run(bool final) {
  std::string_view text = pending_;
  while (!text.empty()) {
    const Stage before = stage_;
    const size_t done = step(text, final);
    text.remove_prefix(done);
    if (done == 0 && stage_ == before && !shape_->changed_without_reading()) {
      if (!final) break;
      builder_.add_content(text);  // nothing may be lost
      text = {};
    }
  }
  pending_ = std::string(text);
}

ResponseDelta ResponseParser::feed(std::string_view piece) {
  pending_ += piece;
  run(false);
  return builder_.take_delta();
}

ResponseDelta ResponseParser::finish() {
  run(true);
  shape_->finish(builder_);
  builder_.finish();
  return builder_.take_delta();
}

Response parse_response(std::string_view text, const ResponseFormat& format, const Json* tools) {
  ResponseParser parser(format, tools);
  parser.feed(text);
  parser.finish();
  return parser.response();
}

}  // namespace wick
