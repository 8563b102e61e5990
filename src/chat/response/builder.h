#pragma once

#include <string>
#include <string_view>

#include "chat/response.h"

namespace wick::response {

// Collects what a shape finds. White space around reasoning, before the answer and around tool calls is dropped.
class Builder {
 public:
  void add_reasoning(std::string_view text);
  void add_content(std::string_view text);
  void begin_call(std::string_view name, std::string_view id = {});
  void add_arguments(std::string_view text);

  // White space at the end of an answer without tool calls belongs to it.
  void finish();
  ResponseDelta take_delta();
  const Response& response() const { return response_; }

 private:
  Response response_;
  ResponseDelta delta_;
  std::string reasoning_space_, content_space_;  // held until something follows
};

}  // namespace wick::response
