#pragma once

#include "server/api/fields.h"

namespace wick {

struct PromptTokenDetails {
  int64_t cached_tokens = 0;
  static const Fields<PromptTokenDetails>& fields();
};
struct CompletionTokenDetails {
  int64_t reasoning_tokens = 0;
  static const Fields<CompletionTokenDetails>& fields();
};

// What an answer took, in tokens.
struct Usage {
  int64_t prompt_tokens = 0, completion_tokens = 0, total_tokens = 0;
  PromptTokenDetails prompt_tokens_details;
  CompletionTokenDetails completion_tokens_details;
  static const Fields<Usage>& fields();
};

}  // namespace wick
