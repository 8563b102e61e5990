#include "server/api/usage.h"

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
          .add("completion_tokens", &Usage::completion_tokens, "Written, in all choices.")
          .add("total_tokens", &Usage::total_tokens, "Both.")
          .add("prompt_tokens_details", &Usage::prompt_tokens_details, "")
          .add("completion_tokens_details", &Usage::completion_tokens_details, "");
  return fields;
}

}  // namespace wick
