#include "server/api/chat/choice_reader.h"

#include <iterator>
#include <utility>

#include "server/api/generation/answer_head.h"
#include "server/api/json_copy.h"

namespace wick {

ChoiceReader::ChoiceReader(const ResponseFormat& format, const Json* tools, bool one_call, CallIds ids)
    : parser_(format, tools), one_call_(one_call), ids_(std::move(ids)) {}

ResponseDelta ChoiceReader::read(const RequestEvent& event) {
  ResponseDelta delta = parser_.feed(event.text);
  if (event.kind == RequestEvent::Kind::kEnd) {
    ResponseDelta rest = parser_.finish();
    delta.reasoning += rest.reasoning;
    delta.content += rest.content;
    std::move(rest.tool_calls.begin(), rest.tool_calls.end(), std::back_inserter(delta.tool_calls));
  }
  keep(delta);
  const bool answers = !response_.content.empty() || !response_.tool_calls.empty();
  if (event.kind == RequestEvent::Kind::kToken && !response_.reasoning.empty() && !answers) ++reasoning_tokens_;
  return delta;
}

void ChoiceReader::keep(ResponseDelta& delta) {
  if (one_call_) std::erase_if(delta.tool_calls, [](const ToolCallDelta& part) { return part.index > 0; });
  response_.reasoning += delta.reasoning;
  response_.content += delta.content;
  for (ToolCallDelta& part : delta.tool_calls) {
    if (part.index == response_.tool_calls.size()) {
      if (part.id.empty())
        part.id = ids_.of.empty() ? make_id(ids_.prefix) : cat(ids_.prefix, ids_.of, "_", part.index);
      response_.tool_calls.push_back({part.id, part.name, {}});
    }
    response_.tool_calls[part.index].arguments += part.arguments;
  }
}

void UsageCount::add(int64_t prompt, const GenerateResult& result, int64_t reasoning_tokens) {
  const auto place = static_cast<size_t>(prompt);
  if (seen_.size() <= place) seen_.resize(place + 1);
  if (!seen_[place]) {
    seen_[place] = true;
    usage_.prompt_tokens += result.prompt_tokens;
    usage_.prompt_tokens_details.cached_tokens += result.reused_tokens;
  }
  usage_.completion_tokens += std::ssize(result.tokens);
  usage_.completion_tokens_details.reasoning_tokens += reasoning_tokens;
  usage_.total_tokens = usage_.prompt_tokens + usage_.completion_tokens;
}

std::optional<OrderedJson> call_arguments(const ToolCall& call) {
  if (call.arguments.empty()) return OrderedJson::object();
  try {
    const Json arguments = Json::parse(call.arguments, "arguments");
    if (arguments.is_object()) return to_ordered(arguments);
  } catch (const Error&) {
    return std::nullopt;
  }
  return std::nullopt;
}

Timings timings_of(const GenerateResult& result) {
  Timings timings;
  timings.cache_n = result.reused_tokens;
  timings.prompt_n = result.prompt_tokens - result.reused_tokens;
  timings.prompt_ms = 1000 * result.prefill_seconds;
  timings.prompt_per_second = result.prefill_rate();
  timings.predicted_n = std::ssize(result.tokens);
  timings.predicted_ms = 1000 * result.decode_seconds;
  timings.predicted_per_second = result.decode_rate();
  return timings;
}

std::string_view finish_reason(const GenerateResult& result, bool has_calls) {
  switch (result.reason) {
    case StopReason::kEndOfText:
    case StopReason::kStopString: return has_calls ? "tool_calls" : "stop";
    default: return "length";
  }
}

}  // namespace wick
