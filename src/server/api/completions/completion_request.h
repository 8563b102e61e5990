#pragma once

#include <optional>
#include <variant>

#include "engine/request.h"
#include "server/api/generation/sampling_request.h"

namespace wick {

// "a", ["a", "b"], [1, 2] or [[1, 2], [3]].
struct CompletionPrompts {
  using Prompt = std::variant<std::string, std::vector<int32_t>>;
  std::vector<Prompt> prompts;
};
template <>
struct FieldKind<CompletionPrompts> {
  static OrderedJson schema(SchemaSet& set);
  static void read(const Json& value, const std::string& place, const Limits& limits, CompletionPrompts& out);
};

// The same, of at most so many.
void read_prompts(const Json& value, const std::string& place, int64_t most, CompletionPrompts& out);

// POST /v1/completions.
struct CompletionRequest : ChoicesRequest {
  CompletionPrompts prompt;
  int64_t max_tokens = 16;
  bool echo = false;
  std::optional<int64_t> logprobs;
  int64_t best_of = 1;
  std::optional<std::string> suffix;

  // Wick's own.
  int64_t num_beams = 1;
  std::optional<float> length_penalty;
  std::string early_stopping = "no";
  int64_t no_repeat_ngram_size = 0;
  std::string begins_with;

  static const Fields<CompletionRequest>& fields();
  // Throws RequestError.
  static CompletionRequest parse(const Json& body);
  // Those of beams: what is not said of drawing tokens is that none are drawn.
  void set_search(EngineRequest& job) const;
};

inline constexpr int64_t kMostPrompts = 128;

}  // namespace wick
