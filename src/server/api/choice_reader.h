#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/request.h"
#include "server/api/usage.h"
#include "text/response_parser.h"

namespace wick {

// Takes one choice apart while it is written.
class ChoiceReader {
 public:
  // `tools`: the list given to the template, or null; must live longer. `one_call`: calls behind the first are dropped.
  ChoiceReader(const ResponseFormat& format, const Json* tools, bool one_call);

  // What a kToken or kEnd event added. The first part of every call has an id.
  ResponseDelta read(const RequestEvent& event);

  // So far, without what was dropped; every call has an id.
  const Response& response() const { return response_; }
  int64_t reasoning_tokens() const { return reasoning_tokens_; }

 private:
  void keep(ResponseDelta& delta);

  ResponseParser parser_;
  bool one_call_;
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

// "stop", "length" or "tool_calls".
std::string_view finish_reason(const GenerateResult& result, bool has_calls);

}  // namespace wick
