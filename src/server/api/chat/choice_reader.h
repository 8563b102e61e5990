#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chat/response_parser.h"
#include "engine/request.h"
#include "server/api/generation/usage.h"

namespace wick {

// Ids of calls where the model gives none: random ones, or with `of` the same each time, "call_abc_0".
struct CallIds {
  std::string_view prefix = "call_";
  std::string of;
};

// Takes one choice apart while it is written.
class ChoiceReader {
 public:
  // `tools`: the list given to the template, or null; must live longer. `one_call`: calls behind the first are dropped.
  ChoiceReader(const ResponseFormat& format, const Json* tools, bool one_call, CallIds ids = {});

  // What a kToken or kEnd event added. The first part of every call has an id.
  ResponseDelta read(const RequestEvent& event);

  // So far, without what was dropped; every call has an id.
  const Response& response() const { return response_; }
  int64_t reasoning_tokens() const { return reasoning_tokens_; }

 private:
  void keep(ResponseDelta& delta);

  ResponseParser parser_;
  bool one_call_;
  CallIds ids_;
  Response response_;
  int64_t reasoning_tokens_ = 0;
};

// Sums up what the choices of one or more prompts took.
class UsageCount {
 public:
  void add(int64_t prompt, const GenerateResult& result, int64_t reasoning_tokens = 0);
  const Usage& usage() const { return usage_; }

 private:
  Usage usage_;
  std::vector<bool> seen_;  // per prompt: its own tokens count once
};

// A call's arguments as an object. Empty where they are none, as the model wrote them or was cut off: there, a protocol
// that cannot pass on a text as arguments shows it as one.
std::optional<OrderedJson> call_arguments(const ToolCall& call);

Timings timings_of(const GenerateResult& result);

// "stop", "length" or "tool_calls".
std::string_view finish_reason(const GenerateResult& result, bool has_calls);

}  // namespace wick
