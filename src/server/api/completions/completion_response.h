#pragma once

#include <optional>

#include "server/api/generation/token_logprobs.h"
#include "server/api/generation/usage.h"

namespace wick {

struct CompletionChoice {
  std::string text;
  int64_t index = 0;
  std::optional<CompletionLogprobs> logprobs;
  std::optional<std::string> finish_reason;  // empty in chunks but the last
  static const Fields<CompletionChoice>& fields();
};

// What POST /v1/completions answers, whole or in chunks.
struct Completion {
  std::string id, object = "text_completion";
  int64_t created = 0;
  std::string model, system_fingerprint;
  std::vector<CompletionChoice> choices;
  std::optional<Usage> usage;
  std::optional<OrderedJson> wick;
  static const Fields<Completion>& fields();
};

}  // namespace wick
