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

// How long one answer took, under the names that llama.cpp's server gives them.
struct Timings {
  int64_t cache_n = 0, prompt_n = 0;  // tokens from the prefix cache, and those of the prefill
  double prompt_ms = 0, prompt_per_second = 0;
  int64_t predicted_n = 0;
  double predicted_ms = 0, predicted_per_second = 0;  // behind the first token, which the prefill gives
  static const Fields<Timings>& fields();
};

}  // namespace wick
