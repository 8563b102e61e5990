#pragma once

#include "server/api/completions/completion_request.h"

namespace wick {

// As CompletionPrompts, but as many as OpenAI's take.
struct EmbeddingInputs : CompletionPrompts {};
template <>
struct FieldKind<EmbeddingInputs> {
  static OrderedJson schema(SchemaSet& set) { return FieldKind<CompletionPrompts>::schema(set); }
  static void read(const Json& value, const std::string& place, const Limits& limits, EmbeddingInputs& out);
};

// POST /v1/embeddings.
struct EmbeddingsRequest {
  EmbeddingInputs input;
  std::string model;
  std::string encoding_format = "float";
  std::optional<int64_t> dimensions;
  std::string prompt_name;
  bool truncate = false;
  bool chunk = false;

  static const Fields<EmbeddingsRequest>& fields();
};

inline constexpr int64_t kMostInputs = 2048;

}  // namespace wick
