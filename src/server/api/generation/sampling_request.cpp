#include "server/api/generation/sampling_request.h"

#include <algorithm>

namespace wick {

const Fields<SamplingRequest>& SamplingRequest::fields() {
  using R = SamplingRequest;
  static const Fields<R> fields =
      Fields<R>("SamplingRequest", BodyUse::kRequest)
          .add("model", &R::model, "Which model answers; the first one when it is left out.")
          .add("stream", &R::stream, "Send the answer while it is generated, as server-sent events.")
          .add("temperature", &R::temperature, "0: always the most likely token; higher: bolder.")
          .range(0, 2)
          .add("top_p", &R::top_p, "Only the most likely tokens whose probabilities add up to this.")
          .range(0, 1)
          .add("seed", &R::seed, "The same seed gives the same answer; a random one when it is left out.")
          .add("user", &R::user, "Who asks; changes nothing.")
          .add("top_k", &R::top_k, "Only this many of the most likely tokens; 0: all. An extension.")
          .range(0)
          .add("min_p", &R::min_p, "Only tokens this likely relative to the most likely one. An extension.")
          .range(0, 1)
          .add("typical_p", &R::typical_p, "Only the most typical tokens that add up to this. An extension.")
          .range(0, 1)
          .add("repetition_penalty", &R::repetition_penalty,
               "Above 1: tokens seen before become less likely. An extension.")
          .range(0.01, 10)
          .add("penalty_window", &R::penalty_window,
               "How many of the last tokens count as seen; -1: all. An extension.")
          .range(-1)
          .add("dry_multiplier", &R::dry_multiplier,
               "How much a token that continues a repetition loses; 0: nothing. An extension.")
          .range(0, 100)
          .add("dry_base", &R::dry_base, "How fast that grows with the repetition's length. An extension.")
          .range(1, 100)
          .add("dry_allowed_length", &R::dry_allowed_length, "Repetitions up to this length are free. An extension.")
          .range(1)
          .add("dry_window", &R::dry_window, "How many of the last tokens are searched; -1: all. An extension.")
          .range(-1)
          .add("dry_breakers", &R::dry_breakers, "Texts that no repetition reaches across. An extension.")
          .add("xtc_probability", &R::xtc_probability, "How often the most likely choices are left out. An extension.")
          .range(0, 1)
          .add("xtc_threshold", &R::xtc_threshold, "How likely these are at least. An extension.")
          .range(0, 1)
          .add("mirostat", &R::mirostat, "Aim at a steady surprise; 2 and true mean the same. An extension.")
          .add("mirostat_tau", &R::mirostat_tau, "The surprise aimed at, in bits per token. An extension.")
          .range(0, 100)
          .add("mirostat_eta", &R::mirostat_eta, "How fast it learns. An extension.")
          .range(0, 1)
          .add("grammar", &R::grammar, "GBNF: what the answer may look like. An extension.")
          .add("ignore_eos", &R::ignore_eos, "Go on where the model would end. An extension.")
          .add("priority", &R::priority, "Who goes first when there is not room for all. An extension.")
          .words({"low", "normal", "high", "critical"})
          .add("timeout", &R::timeout, "Seconds; what there is by then is the answer. An extension.")
          .range(0.001, 86400);
  return fields;
}

const Fields<StreamOptions>& StreamOptions::fields() {
  static const Fields<StreamOptions> fields =
      Fields<StreamOptions>("StreamOptions", BodyUse::kRequest)
          .add("include_usage", &StreamOptions::include_usage, "Send a last chunk that counts the tokens.");
  return fields;
}

const Fields<ChoicesRequest>& ChoicesRequest::fields() {
  using R = ChoicesRequest;
  static const Fields<R> fields =
      Fields<R>("ChoicesRequest", BodyUse::kRequest)
          .add_all(SamplingRequest::fields())
          .add("n", &R::n, "How many answers.")
          .range(1, kMostChoices)
          .add("frequency_penalty", &R::frequency_penalty, "Off a token's logit per time it was generated.")
          .range(-2, 2)
          .add("presence_penalty", &R::presence_penalty, "Off a token's logit once it was generated.")
          .range(-2, 2)
          .add("logit_bias", &R::logit_bias, "Added to the logits of these tokens; -100 forbids one.")
          .add("stop", &R::stop, "Texts that end the answer; they are not part of it. At most 4.")
          .add("stream_options", &R::stream_options, "Only with stream.")
          .add("wick", &R::wick, "What is captured and changed inside the model; needs --inspect. An extension.");
  return fields;
}

void check_choices(const ChoicesRequest& request, int64_t most_stops) {
  if (std::ssize(request.stop.texts) > most_stops) {
    throw RequestError("stop", cat("stop has ", request.stop.texts.size(), " texts, allowed are ", most_stops));
  }
  if (std::any_of(request.stop.texts.begin(), request.stop.texts.end(), [](const auto& t) { return t.empty(); })) {
    throw RequestError("stop", "stop has an empty text");
  }
  if (request.stream_options && !request.stream) {
    throw RequestError("stream_options", "stream_options is set, but stream is not true");
  }
}

}  // namespace wick
