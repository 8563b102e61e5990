#pragma once

#include <optional>
#include <variant>

#include "server/api/sampling_request.h"

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

// POST /v1/completions.
struct CompletionRequest : ChoicesRequest {
  CompletionPrompts prompt;
  int64_t max_tokens = 16;
  bool echo = false;
  std::optional<int64_t> logprobs;
  int64_t best_of = 1;
  std::optional<std::string> suffix;

  static const Fields<CompletionRequest>& fields();
  // Throws RequestError.
  static CompletionRequest parse(const Json& body);
};

inline constexpr int64_t kMostPrompts = 128;

}  // namespace wick
