#include "server/api/completions/completion_request.h"

namespace wick {

OrderedJson FieldKind<CompletionPrompts>::schema(SchemaSet&) {
  const OrderedJson text = {{"type", "string"}}, token = {{"type", "integer"}};
  const auto list_of = [](const OrderedJson& items) { return OrderedJson{{"type", "array"}, {"items", items}}; };
  return {{"anyOf", {text, list_of(text), list_of(token), list_of(list_of(token))}}};
}

void FieldKind<CompletionPrompts>::read(const Json& value, const std::string& place, const Limits&,
                                        CompletionPrompts& out) {
  read_prompts(value, place, kMostPrompts, out);
}

void read_prompts(const Json& value, const std::string& place, int64_t most, CompletionPrompts& out) {
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
  if (std::ssize(items) > most) {
    throw RequestError(place, cat(place, " has ", items.size(), " texts, allowed are ", most));
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
          .add("suffix", &R::suffix, "Only empty.")
          .add("num_beams", &R::num_beams, "Beam search over this many texts; 1: none. An extension.")
          .range(1, kMostBeams)
          .add("length_penalty", &R::length_penalty,
               "Beams are compared by their log-probability by this power of their length; 1 without it. An extension.")
          .range(-10, 10)
          .add("early_stopping", &R::early_stopping,
               "A beam search ends once there are num_beams texts: when none that goes on is better (no), at once "
               "(yes), "
               "or when none can become better (never). An extension.")
          .words({"no", "yes", "never"})
          .add("no_repeat_ngram_size", &R::no_repeat_ngram_size,
               "In a beam search, no run of so many tokens comes twice; 0: they may. An extension.")
          .range(0, 1000)
          .add("begins_with", &R::begins_with,
               "A control token that the text of a model with an encoder begins with: a language. An extension.");
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
  const bool searches = request.num_beams > 1;
  for (const auto& [name, is_set] : {std::pair{"length_penalty", request.length_penalty.has_value()},
                                     std::pair{"early_stopping", request.early_stopping != "no"},
                                     std::pair{"no_repeat_ngram_size", request.no_repeat_ngram_size != 0}}) {
    if (is_set && !searches) throw RequestError(name, cat(name, " is set, but num_beams is not above 1"));
  }
  if (request.max_tokens == 0 && !request.echo) {
    throw RequestError("max_tokens", "max_tokens is 0 and echo is not true, so there would be no answer");
  }
  return request;
}

void CompletionRequest::set_search(EngineRequest& job) const {
  job.begins_with = begins_with;
  if (num_beams == 1) return;
  BeamParams& beams = job.params.beams;
  beams.count = num_beams;
  beams.length_penalty = length_penalty.value_or(1);
  beams.early_stopping = early_stopping == "yes"     ? EarlyStopping::kYes
                         : early_stopping == "never" ? EarlyStopping::kNever
                                                     : EarlyStopping::kNo;
  beams.no_repeat_ngram = no_repeat_ngram_size;
  if (!temperature) job.params.sampling.temperature = 0;
  if (!repetition_penalty) job.params.sampling.repetition_penalty = 1;  // what the model's makers recommend for draws
}

}  // namespace wick
