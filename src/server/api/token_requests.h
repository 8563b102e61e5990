#pragma once

#include <optional>

#include "server/api/chat/chat_request.h"

namespace wick {

// POST /tokenize: either a text or messages.
struct TokenizeRequest {
  std::string model;
  std::optional<std::string> content;
  std::optional<std::vector<ChatMessage>> messages;
  std::vector<ToolRequest> tools;
  Json tool_list;  // as they came
  bool add_special = true, with_pieces = false;
  static const Fields<TokenizeRequest>& fields();
  static TokenizeRequest parse(const Json& body);
};
struct TokenizeAnswer {
  std::vector<int32_t> tokens;
  std::optional<std::vector<std::string>> pieces;
  int64_t count = 0;
  static const Fields<TokenizeAnswer>& fields();
};

// POST /detokenize.
struct DetokenizeRequest {
  std::string model;
  std::vector<int32_t> tokens;
  bool skip_special = false;
  static const Fields<DetokenizeRequest>& fields();
};
struct DetokenizeAnswer {
  std::string content;
  static const Fields<DetokenizeAnswer>& fields();
};

}  // namespace wick
