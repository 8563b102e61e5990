#include "fuzz/grammar_harness.h"

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "grammar/grammar.h"

namespace wick {
namespace {

void require(bool promise) {
  if (!promise) std::abort();
}

constexpr int kEnd = 300;

const std::shared_ptr<const TokenVocabulary>& vocabulary() {
  static const std::shared_ptr<const TokenVocabulary> kVocabulary = [] {
    std::vector<std::string> tokens;
    for (int byte = 0; byte < 256; ++byte) tokens.emplace_back(1, static_cast<char>(byte));
    for (const char* piece :
         {"{\"", "\":", "\",", "\"}", "[]", "true", "null", "12", "-1", "ab", "abc", "é", "中文", "\xE4\xB8", "  "}) {
      tokens.emplace_back(piece);
    }
    return std::make_shared<const TokenVocabulary>(std::move(tokens), std::vector<int>{}, std::vector<int>{kEnd});
  }();
  return kVocabulary;
}

void walk(const Grammar& grammar, std::string_view choices) {
  GrammarState state(grammar, vocabulary());
  std::vector<uint32_t> bits(static_cast<size_t>(vocabulary()->size()) / 32 + 1);
  const auto is_set = [&](int token) { return (bits[static_cast<size_t>(token) / 32] >> (token % 32) & 1) != 0; };
  for (size_t step = 0; step < 24; ++step) {
    const bool any = state.mask(bits);
    const auto choice =
        static_cast<int>(static_cast<uint8_t>(choices.empty() ? 0 : choices[step * 7 % choices.size()]));
    require(is_set(kEnd) == state.is_complete());
    require(any || !state.is_complete());
    // The first allowed token from a place on that the input chooses; those before it must be refused.
    int chosen = -1;
    for (int i = 0; i < kEnd && chosen < 0; ++i) {
      const int token = (choice + i) % kEnd;
      GrammarState copy = state;
      const bool is_accepted = copy.accept(token);
      require(is_accepted == is_set(token));
      if (is_accepted) chosen = token;
    }
    if (chosen < 0) return;
    require(state.accept(chosen));
  }
}

template <typename Compile>
void run(const Compile& compile, std::string_view choices) {
  try {
    walk(compile(), choices);
  } catch (const Error& error) {
    require(*error.what() != '\0');
    require(error.code() != ErrorCode::kInternal);
  }
}

}  // namespace

void fuzz_grammar(std::string_view text) {
  run([&] { return Grammar::from_gbnf(text); }, text);
}

void fuzz_schema(std::string_view text) {
  run([&] { return Grammar::from_json_schema(Json::parse(text, "schema")); }, text);
}

}  // namespace wick
