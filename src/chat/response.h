#pragma once

#include <string>
#include <vector>

namespace wick {

struct ToolCall {
  std::string id;  // when the model gives one
  std::string name;
  std::string arguments;  // JSON text of an object, as the model wrote it
};

// A model's answer, taken apart.
struct Response {
  std::string reasoning;
  std::string content;
  std::vector<ToolCall> tool_calls;
};

// A part of a call that has just arrived.
struct ToolCallDelta {
  size_t index = 0;  // into Response::tool_calls
  std::string id;    // with the first part
  std::string name;  // with the first part
  std::string arguments;
};

// What a piece of text added to a Response.
struct ResponseDelta {
  std::string reasoning;
  std::string content;
  std::vector<ToolCallDelta> tool_calls;

  bool empty() const { return reasoning.empty() && content.empty() && tool_calls.empty(); }
};

}  // namespace wick
