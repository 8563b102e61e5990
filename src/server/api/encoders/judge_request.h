#pragma once

#include "server/api/request_kinds.h"

namespace wick {

inline constexpr int64_t kMostDocuments = 2048;

// "a" or {"text": "a"}, in a list.
struct Documents {
  std::vector<std::string> texts;
};
template <>
struct FieldKind<Documents> {
  static OrderedJson schema(SchemaSet& set);
  static void read(const Json& value, const std::string& place, const Limits& limits, Documents& out);
};

// POST /v1/rerank, as Jina and Cohere have it.
struct RerankRequest {
  std::string model, query;
  Documents documents;
  std::optional<int64_t> top_n;
  bool return_documents = true;
  bool truncate = false;
  std::optional<std::string> instruction;
  std::optional<int64_t> max_tokens_per_doc;
  static const Fields<RerankRequest>& fields();
};

// POST /v1/score: how relevant texts of the second are to those of the first.
struct ScoreRequest {
  std::string model;
  TextOrList text_1, text_2;
  bool truncate = false;
  static const Fields<ScoreRequest>& fields();
};

// POST /v1/classify.
struct ClassifyRequest {
  std::string model;
  TextOrList input;
  std::vector<std::string> labels;  // one's own, by entailment; empty: the model's
  std::optional<std::string> pattern;
  bool several = false;
  bool truncate = false;
  static const Fields<ClassifyRequest>& fields();
};

}  // namespace wick
