#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "grammar_reference.h"
#include "grammar_samples.h"

namespace wick {
namespace {

// Some random grammars match nothing at all, which is an error.
std::optional<Grammar> compile(const ReferenceGrammar& reference) {
  try {
    return Grammar::from_gbnf(reference.gbnf());
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("matches no text"), std::string::npos) << error.what() << "\n"
                                                                                    << reference.gbnf();
    return std::nullopt;
  }
}

TEST(GrammarRandom, AcceptsWhatThePlainRecogniserDoes) {
  std::mt19937 random(7);
  int accepted = 0, compiled = 0;
  for (int round = 0; round < 6000; ++round) {
    const ReferenceGrammar reference = ReferenceGrammar::random(random);
    const auto grammar = compile(reference);
    if (!grammar) continue;
    ++compiled;
    for (int i = 0; i < 40; ++i) {
      const std::u32string text = ReferenceGrammar::random_text(random, 6);
      const bool expected = reference.matches(text);
      accepted += expected;
      ASSERT_EQ(matches(*grammar, to_utf8(text)), expected) << to_utf8(text) << "\n" << reference.gbnf();
    }
  }
  EXPECT_GT(compiled, 4000);
  EXPECT_GT(accepted, 15000);
}

TEST(GrammarRandom, MaskEqualsTryingEveryToken) {
  std::mt19937 random(11);
  const SampleVocabulary vocabulary =
      make_vocabulary({"aab", "abc\"", "\"\"", "cé", "éa", "a😀b", "bbbb", "cab", "aé\xE4"});
  for (int round = 0; round < 1500; ++round) {
    const ReferenceGrammar reference = ReferenceGrammar::random(random);
    const auto grammar = compile(reference);
    if (!grammar) continue;
    GrammarState state(*grammar, vocabulary.tokens);
    for (int step = 0; step < 8; ++step) {
      const std::vector<int> allowed = allowed_tokens(state, vocabulary);
      std::vector<int> expected;
      for (int token = 0; token < static_cast<int>(vocabulary.bytes.size()); ++token) {
        GrammarState copy = state;
        if (copy.accept(token)) expected.push_back(token);
      }
      ASSERT_EQ(allowed, expected) << reference.gbnf();
      ASSERT_EQ(std::count(allowed.begin(), allowed.end(), vocabulary.end), state.is_complete());
      ASSERT_EQ(std::count(allowed.begin(), allowed.end(), vocabulary.special), 0);
      if (allowed.empty()) break;
      const int token = allowed[random() % allowed.size()];
      if (token == vocabulary.end) break;
      ASSERT_TRUE(state.accept(token));
    }
  }
}

// The same inside JSON: strings with and without limits, names that must differ from others, patterns.
TEST(GrammarRandom, MaskEqualsTryingEveryTokenInJson) {
  std::mt19937 random(17);
  const SampleVocabulary vocabulary =
      make_vocabulary({"names", "nam", "na", "ag", "ages", "e\":", "n\"", "a\\", "\":{"});
  for (
      const char* schema :
      {R"({"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer"}},"additionalProperties":{"type":"string","maxLength":7}})",
       R"({"type":"array","items":{"type":"string","minLength":1,"maxLength":12},"minItems":1})",
       R"({"type":"string","pattern":"^[a-z ]{3}[a-e][^x]{0,4}é?$"})", R"({"type":"string","pattern":"b.b"})", "true",
       R"({"anyOf":[{"type":"string","maxLength":4},{"type":"string","pattern":"^[^a]*$"},{"enum":["abcabc","ab\n"]}]})"}) {
    const Grammar grammar = Grammar::from_json_schema(Json::parse(schema, "schema"));
    for (int round = 0; round < 40; ++round) {
      GrammarState state(grammar, vocabulary.tokens);
      for (int step = 0; step < 25 && !state.has_ended(); ++step) {
        const std::vector<int> allowed = allowed_tokens(state, vocabulary);
        std::vector<int> expected;
        for (int token = 0; token < static_cast<int>(vocabulary.bytes.size()); ++token) {
          GrammarState copy = state;
          if (copy.accept(token)) expected.push_back(token);
        }
        ASSERT_EQ(allowed, expected) << schema;
        ASSERT_FALSE(allowed.empty()) << schema;
        // Single bytes are most of the vocabulary; the longer tokens are what is interesting.
        int token = allowed[random() % allowed.size()];
        for (int again = 0; again < 4 && token < 256; ++again) token = allowed[random() % allowed.size()];
        ASSERT_TRUE(state.accept(token));
      }
    }
  }
}

// Whatever is accepted can be completed: no walk along the mask ends where nothing is allowed.
TEST(GrammarRandom, NeverLeadsIntoADeadEnd) {
  std::mt19937 random(13);
  const SampleVocabulary vocabulary = make_vocabulary();
  for (int round = 0; round < 300; ++round) {
    const ReferenceGrammar reference = ReferenceGrammar::random(random);
    const auto grammar = compile(reference);
    if (!grammar) continue;
    GrammarState state(*grammar, vocabulary.tokens);
    for (int step = 0; step < 30; ++step) {
      const std::vector<int> allowed = allowed_tokens(state, vocabulary);
      ASSERT_FALSE(allowed.empty()) << reference.gbnf();
      const int token = allowed[random() % allowed.size()];
      ASSERT_TRUE(state.accept(token));
      if (token == vocabulary.end) break;
    }
  }
}

}  // namespace
}  // namespace wick
