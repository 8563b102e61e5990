#include "server/api/encoders/judge_request.h"

namespace wick {
namespace {

constexpr char kModel[] = "Which model; the first one that judges when it is left out.";
constexpr char kTruncate[] = "Cut texts that are longer than the model reads; else they are refused.";

}  // namespace

OrderedJson FieldKind<Documents>::schema(SchemaSet&) {
  const OrderedJson text = {{"type", "string"}};
  const OrderedJson object = {{"type", "object"}, {"properties", {{"text", text}}}, {"required", {"text"}}};
  return {{"type", "array"}, {"items", {{"anyOf", {text, object}}}}};
}

void FieldKind<Documents>::read(const Json& value, const std::string& place, const Limits&, Documents& out) {
  if (!value.is_array()) throw wrong_kind(place, value, "a list of texts");
  const Json::Array& items = value.as_array();
  if (items.empty()) throw RequestError(place, cat(place, " is empty"));
  if (std::ssize(items) > kMostDocuments) {
    throw RequestError(place, cat(place, " has ", items.size(), " texts, allowed are ", kMostDocuments));
  }
  for (size_t i = 0; i < items.size(); ++i) {
    const Json* text = items[i].is_object() ? items[i].find("text") : &items[i];
    if (!text || !text->is_text()) throw wrong_kind(cat(place, "[", i, "]"), items[i], "text");
    out.texts.push_back(text->as_text());
  }
}

const Fields<RerankRequest>& RerankRequest::fields() {
  using R = RerankRequest;
  static const Fields<R> fields =
      Fields<R>("RerankRequest", BodyUse::kRequest)
          .add("model", &R::model, kModel)
          .add("query", &R::query, "What is looked for.")
          .required()
          .add("documents", &R::documents, "The texts that are sorted: each a text, or an object with one.")
          .required()
          .add("top_n", &R::top_n, "Give only so many.")
          .range(1)
          .add("return_documents", &R::return_documents, "Give their texts back, too.")
          .add("instruction", &R::instruction, "What relevance means, for models that are told (Qwen3-Reranker).")
          .add("max_tokens_per_doc", &R::max_tokens_per_doc, "Look at so many tokens of each document only.")
          .range(1)
          .add("truncate", &R::truncate, kTruncate);
  return fields;
}

const Fields<ScoreRequest>& ScoreRequest::fields() {
  using R = ScoreRequest;
  static const Fields<R> fields = Fields<R>("ScoreRequest", BodyUse::kRequest)
                                      .add("model", &R::model, kModel)
                                      .add("text_1", &R::text_1, "A text, or as many as there are in text_2.")
                                      .required()
                                      .add("text_2", &R::text_2, "A text, or several.")
                                      .required()
                                      .add("truncate", &R::truncate, kTruncate);
  return fields;
}

const Fields<ClassifyRequest>& ClassifyRequest::fields() {
  using R = ClassifyRequest;
  static const Fields<R> fields = Fields<R>("ClassifyRequest", BodyUse::kRequest)
                                      .add("model", &R::model, kModel)
                                      .add("input", &R::input, "A text, or several.")
                                      .required()
                                      .add("labels", &R::labels, "Labels of your own, for models of entailment.")
                                      .add("pattern", &R::pattern, "What a label claims; {} stands for it.")
                                      .add("several", &R::several, "More than one of your labels may hold.")
                                      .add("truncate", &R::truncate, kTruncate);
  return fields;
}

}  // namespace wick
