#include "server/api/generation/usage.h"

namespace wick {

const Fields<PromptTokenDetails>& PromptTokenDetails::fields() {
  using R = PromptTokenDetails;
  static const Fields<R> fields =
      Fields<R>("PromptTokenDetails", BodyUse::kResponse)
          .add("cached_tokens", &R::cached_tokens, "Those that were known from an earlier prompt.");
  return fields;
}

const Fields<CompletionTokenDetails>& CompletionTokenDetails::fields() {
  using R = CompletionTokenDetails;
  static const Fields<R> fields = Fields<R>("CompletionTokenDetails", BodyUse::kResponse)
                                      .add("reasoning_tokens", &R::reasoning_tokens, "Those that were thought.");
  return fields;
}

const Fields<Usage>& Usage::fields() {
  static const Fields<Usage> fields =
      Fields<Usage>("Usage", BodyUse::kResponse)
          .add("prompt_tokens", &Usage::prompt_tokens, "Read.")
          .add("completion_tokens", &Usage::completion_tokens, "Generated, in all choices.")
          .add("total_tokens", &Usage::total_tokens, "Both.")
          .add("prompt_tokens_details", &Usage::prompt_tokens_details, "")
          .add("completion_tokens_details", &Usage::completion_tokens_details, "");
  return fields;
}

const Fields<Timings>& Timings::fields() {
  using R = Timings;
  static const Fields<R> fields =
      Fields<R>("Timings", BodyUse::kResponse)
          .add("cache_n", &R::cache_n, "Prompt tokens from the prefix cache.")
          .add("prompt_n", &R::prompt_n, "Prompt tokens of the prefill.")
          .add("prompt_ms", &R::prompt_ms, "From the first pass to the first token.")
          .add("prompt_per_second", &R::prompt_per_second, "")
          .add("predicted_n", &R::predicted_n, "Tokens written.")
          .add("predicted_ms", &R::predicted_ms, "From the first token to the last.")
          .add("predicted_per_second", &R::predicted_per_second, "Without the first token, which the prefill gives.");
  return fields;
}

}  // namespace wick
