#include "server/api/completion_request.h"

namespace wick {

OrderedJson FieldKind<CompletionPrompts>::schema(SchemaSet&) {
  const OrderedJson text = {{"type", "string"}}, token = {{"type", "integer"}};
  const auto list_of = [](const OrderedJson& items) { return OrderedJson{{"type", "array"}, {"items", items}}; };
  return {{"anyOf", {text, list_of(text), list_of(token), list_of(list_of(token))}}};
}

void FieldKind<CompletionPrompts>::read(const Json& value, const std::string& place, const Limits&,
                                        CompletionPrompts& out) {
  const Limits ids{.low = 0};
  if (value.is_text()) {
    out.prompts = {value.as_text()};
    return;
  }
  if (!value.is_array()) throw wrong_kind(place, value, "text, a list of texts, tokens or a list of lists of tokens");
  const Json::Array& items = value.as_array();
  if (items.empty()) throw RequestError(place, cat(place, " is empty"));
  if (items.front().is_number()) {
    std::vector<int32_t> tokens;
    FieldKind<std::vector<int32_t>>::read(value, place, ids, tokens);
    out.prompts = {std::move(tokens)};
    return;
  }
  if (std::ssize(items) > kMostPrompts) {
    throw RequestError(place, cat(place, " has ", items.size(), " prompts, allowed are ", kMostPrompts));
  }
  for (size_t i = 0; i < items.size(); ++i) {
    const std::string at = cat(place, "[", i, "]");
    if (items[i].is_text()) {
      out.prompts.emplace_back(items[i].as_text());
    } else {
      std::vector<int32_t> tokens;
      FieldKind<std::vector<int32_t>>::read(items[i], at, ids, tokens);
      out.prompts.emplace_back(std::move(tokens));
    }
  }
}

const Fields<CompletionRequest>& CompletionRequest::fields() {
  using R = CompletionRequest;
  static const Fields<R> fields =
      Fields<R>("CompletionRequest", BodyUse::kRequest)
          .add("prompt", &R::prompt, "What is continued: a text or a list of tokens, or several of them.")
          .required()
          .add_all(ChoicesRequest::fields())
          .add("max_tokens", &R::max_tokens, "At most this many tokens per answer; 0 with echo: none.")
          .range(0)
          .add("echo", &R::echo, "The prompt is part of the answer.")
          .add("logprobs", &R::logprobs, "Log-probabilities of each token and of this many of the likeliest.")
          .range(0, kMostTopLogprobs)
          .add("best_of", &R::best_of, "Only 1: every answer is sent.")
          .range(1, kMostChoices)
          .add("suffix", &R::suffix, "Only empty.");
  return fields;
}

CompletionRequest CompletionRequest::parse(const Json& body) {
  CompletionRequest request = fields().read(body);
  check_choices(request);
  if (request.suffix && !request.suffix->empty()) {
    throw RequestError("suffix", "suffix is not supported: Wick continues texts and does not fill gaps",
                       "unsupported_parameter");
  }
  if (request.best_of != 1 && request.best_of != request.n) {
    throw RequestError("best_of", cat("best_of is ", request.best_of, ", but Wick sends every answer: use n"),
                       "unsupported_value");
  }
  if (request.max_tokens == 0 && !request.echo) {
    throw RequestError("max_tokens", "max_tokens is 0 and echo is not true, so there would be no answer");
  }
  return request;
}

}  // namespace wick
