// POST /v1/rerank, /v1/score and /v1/classify.
#include <algorithm>
#include <numeric>

#include "embed/labelled.h"
#include "server/api/api.h"
#include "server/api/encoders/encoder_job.h"
#include "server/api/encoders/judge_request.h"
#include "server/api/generation/answer_head.h"
#include "server/api/json_copy.h"

namespace wick {
namespace {

constexpr int64_t kMostLabels = 256;

std::string body_of(const OrderedJson& json) { return to_text(json) + "\n"; }

// Reads all before any is computed; the message names the place. What they cost is spent.
std::vector<EncoderInput> read_all(const Classifier& model, const std::vector<Classifier::Text>& texts,
                                   const std::vector<std::string>& places, bool truncates, const Caller& caller) {
  std::vector<EncoderInput> inputs;
  int64_t tokens = 0;
  for (size_t i = 0; i < texts.size(); ++i) {
    try {
      inputs.push_back(model.read(texts[i], truncates));
    } catch (const Error& error) {
      throw RequestError(places[i], cat(places[i], ": ", error.what()));
    }
    tokens += std::ssize(inputs.back().tokens);
  }
  spend_tokens(caller, tokens);
  return inputs;
}

OrderedJson usage_of(const std::vector<EncoderInput>& inputs) {
  const int64_t tokens = std::accumulate(inputs.begin(), inputs.end(), int64_t{0},
                                         [](int64_t sum, const auto& input) { return sum + std::ssize(input.tokens); });
  return {{"prompt_tokens", tokens}, {"total_tokens", tokens}};
}

void check_ranks(const Classifier& model) {
  if (model.kind() == Classifier::Kind::kTexts && model.labels().size() == 1) return;
  throw RequestError("model", cat(model.name(), " has ", model.labels().size(), " labels; one that ranks has one"));
}

std::span<const float> row_of(const Tensor& logits, size_t row) {
  const auto width = static_cast<size_t>(logits.dim(1));
  return {logits.data<float>() + row * width, width};
}

struct Ranked {
  std::vector<double> scores;
  OrderedJson usage;
};

Ranked rank(const Classifier& model, const std::vector<Classifier::Text>& pairs, const std::vector<std::string>& places,
            bool truncates, const Caller& caller, const std::shared_ptr<HttpExchange>& exchange) {
  check_ranks(model);
  const std::vector<EncoderInput> inputs = read_all(model, pairs, places, truncates, caller);
  const Tensor logits = model.logits(inputs, while_open(exchange));
  Ranked ranked{{}, usage_of(inputs)};
  for (size_t i = 0; i < pairs.size(); ++i) ranked.scores.push_back(model.probabilities(row_of(logits, i)).front());
  return ranked;
}

std::vector<std::string> places_of(const char* field, size_t count) {
  std::vector<std::string> places;
  for (size_t i = 0; i < count; ++i) places.push_back(count == 1 ? field : cat(field, "[", i, "]"));
  return places;
}

// The labels of one text, in the model's order.
OrderedJson classes_json(const std::vector<std::string>& labels, const std::vector<double>& probabilities,
                         size_t index) {
  const auto best = std::max_element(probabilities.begin(), probabilities.end()) - probabilities.begin();
  return {{"index", index},
          {"label", labels[static_cast<size_t>(best)]},
          {"probs", probabilities},
          {"num_classes", labels.size()}};
}

OrderedJson names_json(const Classifier& model, const std::string& text, bool truncates, size_t index) {
  OrderedJson list = OrderedJson::array();
  for (const NamedSpan& span : named_spans(model, text, truncates)) {
    list.push_back({{"label", span.label},
                    {"text", text.substr(span.place.begin, span.place.size())},
                    {"begin", span.place.begin},
                    {"end", span.place.end},
                    {"score", span.probability}});
  }
  return {{"index", index}, {"entities", std::move(list)}};
}

OrderedJson own_labels_json(const Classifier& model, const std::string& text, const ClassifyRequest& wanted,
                            size_t index) {
  ZeroShotOptions options;
  if (wanted.pattern) options.pattern = *wanted.pattern;
  options.is_exclusive = !wanted.several;
  options.truncates = wanted.truncate;
  const std::vector<Labelled> found = zero_shot(model, text, wanted.labels, options);
  std::vector<double> probabilities;
  for (const std::string& label : wanted.labels) {
    probabilities.push_back(
        std::find_if(found.begin(), found.end(), [&](const Labelled& one) { return one.label == label; })->probability);
  }
  return classes_json(wanted.labels, probabilities, index);
}

std::string classify_all(const Classifier& model, const std::string& name, const ClassifyRequest& wanted,
                         const Caller& caller, const std::shared_ptr<HttpExchange>& exchange) {
  const std::vector<std::string>& texts = wanted.input.texts;
  if (!wanted.labels.empty() && model.kind() == Classifier::Kind::kTokens) {
    throw RequestError("labels", cat("labels: ", model.name(), " gives labels to tokens, not to texts"));
  }
  std::vector<Classifier::Text> singles;
  for (const std::string& text : texts) singles.push_back({.first = text});
  const std::vector<EncoderInput> inputs =
      read_all(model, singles, places_of("input", texts.size()), wanted.truncate, caller);
  OrderedJson data = OrderedJson::array();
  const bool by_model = wanted.labels.empty() && model.kind() == Classifier::Kind::kTexts;
  const Tensor logits = by_model ? model.logits(inputs, while_open(exchange)) : Tensor();
  for (size_t i = 0; i < texts.size(); ++i) {
    while_open(exchange)(0);
    if (by_model) {
      data.push_back(classes_json(model.labels(), model.probabilities(row_of(logits, i)), i));
    } else if (wanted.labels.empty()) {
      data.push_back(names_json(model, texts[i], wanted.truncate, i));
    } else {
      data.push_back(own_labels_json(model, texts[i], wanted, i));
    }
  }
  return body_of({{"object", "list"},
                  {"model", name},
                  {"labels", wanted.labels.empty() ? model.labels() : wanted.labels},
                  {"data", std::move(data)},
                  {"usage", usage_of(inputs)}});
}

constexpr char kOption[] = "--rerank-model";

}  // namespace

void Api::rerank(const HttpRequest& request, const Exchange& exchange) {
  if (stopped_) throw RequestError({}, "The server is shutting down.", "shutting_down", 503);
  const auto wanted = keep_with_room(RerankRequest::fields().read(json_body(request)), request);
  answer_with(
      judges_, wanted->model, kOption, request.caller, exchange,
      [wanted, exchange, caller = request.caller](const Classifier& model, const std::string& name) {
        const std::vector<std::string>& documents = wanted->documents.texts;
        std::vector<Classifier::Text> pairs;
        for (const std::string_view document : documents) {
          const auto most = wanted->max_tokens_per_doc;
          pairs.push_back(
              {wanted->query, most ? model.first_tokens(document, *most) : document, wanted->instruction.value_or("")});
        }
        const Ranked ranked =
            rank(model, pairs, places_of("documents", documents.size()), wanted->truncate, caller, exchange);
        std::vector<size_t> order(documents.size());
        std::iota(order.begin(), order.end(), size_t{0});
        std::stable_sort(order.begin(), order.end(),
                         [&](size_t a, size_t b) { return ranked.scores[a] > ranked.scores[b]; });
        const auto most = static_cast<size_t>(wanted->top_n.value_or(std::ssize(order)));
        order.resize(std::min(order.size(), most));
        OrderedJson results = OrderedJson::array();
        for (const size_t at : order) {
          OrderedJson result = {{"index", at}, {"relevance_score", ranked.scores[at]}};
          if (wanted->return_documents) result["document"] = {{"text", documents[at]}};
          results.push_back(std::move(result));
        }
        return body_of({{"id", make_id("rerank-")},
                        {"object", "list"},
                        {"model", name},
                        {"results", std::move(results)},
                        {"usage", ranked.usage},
                        {"meta", {{"api_version", {{"version", "2"}}}, {"billed_units", {{"search_units", 1}}}}}});
      });
}

void Api::score(const HttpRequest& request, const Exchange& exchange) {
  if (stopped_) throw RequestError({}, "The server is shutting down.", "shutting_down", 503);
  const auto wanted = keep_with_room(ScoreRequest::fields().read(json_body(request)), request);
  const std::vector<std::string>&first = wanted->text_1.texts, &second = wanted->text_2.texts;
  if (first.empty() || second.empty() || (first.size() != 1 && first.size() != second.size())) {
    throw RequestError(
        "text_1", cat("text_1 has ", first.size(), " texts and text_2 ", second.size(), "; expected one or as many"));
  }
  if (std::ssize(second) > kMostDocuments) {
    throw RequestError("text_2", cat("text_2 has ", second.size(), " texts, allowed are ", kMostDocuments));
  }
  answer_with(
      judges_, wanted->model, kOption, request.caller, exchange,
      [wanted, exchange, caller = request.caller](const Classifier& model, const std::string& name) {
        const std::vector<std::string>&first = wanted->text_1.texts, &second = wanted->text_2.texts;
        std::vector<Classifier::Text> pairs;
        for (size_t i = 0; i < second.size(); ++i) pairs.push_back({first[first.size() == 1 ? 0 : i], second[i]});
        const Ranked ranked =
            rank(model, pairs, places_of("text_2", second.size()), wanted->truncate, caller, exchange);
        OrderedJson data = OrderedJson::array();
        for (size_t i = 0; i < second.size(); ++i) {
          data.push_back({{"index", i}, {"object", "score"}, {"score", ranked.scores[i]}});
        }
        return body_of({{"object", "list"}, {"model", name}, {"data", std::move(data)}, {"usage", ranked.usage}});
      });
}

void Api::classify(const HttpRequest& request, const Exchange& exchange) {
  if (stopped_) throw RequestError({}, "The server is shutting down.", "shutting_down", 503);
  const auto wanted = keep_with_room(ClassifyRequest::fields().read(json_body(request)), request);
  const auto check_count = [](const char* field, size_t count, int64_t most) {
    if (static_cast<int64_t>(count) > most) {
      throw RequestError(field, cat(field, " has ", count, " texts, allowed are ", most));
    }
  };
  if (wanted->input.texts.empty()) throw RequestError("input", "input is empty");
  check_count("input", wanted->input.texts.size(), kMostDocuments);
  check_count("labels", wanted->labels.size(), kMostLabels);
  answer_with(judges_, wanted->model, kOption, request.caller, exchange,
              [wanted, exchange, caller = request.caller](const Classifier& model, const std::string& name) {
                return classify_all(model, name, *wanted, caller, exchange);
              });
}

}  // namespace wick
