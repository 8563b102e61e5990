#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "base/thread_pool.h"
#include "grammar_samples.h"
#include "support/errors.h"

namespace wick {
namespace {

int token_of(const SampleVocabulary& vocabulary, const std::string& bytes) {
  return static_cast<int>(std::find(vocabulary.bytes.begin(), vocabulary.bytes.end(), bytes) -
                          vocabulary.bytes.begin());
}

TEST(GrammarState, CharactersMaySplitAcrossTokens) {
  const SampleVocabulary vocabulary = make_vocabulary();
  const Grammar grammar = Grammar::from_gbnf("root ::= [é中😀]+ \"!\"");
  GrammarState state(grammar, vocabulary.tokens);
  for (const char* piece : {"\xC3", "\xA9", "\xE4\xB8", "\xAD", "\xF0\x9F", "\x98\x80", "😀😀", "!"}) {
    const int token = token_of(vocabulary, piece);
    const std::vector<int> allowed = allowed_tokens(state, vocabulary);
    EXPECT_TRUE(std::count(allowed.begin(), allowed.end(), token)) << piece;
    EXPECT_TRUE(state.accept(token));
  }
  EXPECT_TRUE(state.is_complete());
  // Inside a character only its own next bytes are allowed.
  GrammarState inside(grammar, vocabulary.tokens);
  ASSERT_TRUE(inside.accept(token_of(vocabulary, "\xE4\xB8")));
  for (const int token : allowed_tokens(inside, vocabulary))
    EXPECT_EQ(vocabulary.bytes[static_cast<size_t>(token)], "\xAD");
  EXPECT_FALSE(inside.accept('!'));
  EXPECT_FALSE(inside.is_complete());
}

TEST(GrammarState, EndTokensAndWhatFollows) {
  const SampleVocabulary vocabulary = make_vocabulary();
  GrammarState state(Grammar::from_gbnf("root ::= \"a\"{1,2}"), vocabulary.tokens);
  EXPECT_FALSE(state.accept(vocabulary.end));
  EXPECT_FALSE(state.accept(vocabulary.special));  // its text is "a", but it is special
  EXPECT_FALSE(state.accept(-1));
  EXPECT_FALSE(state.accept(1 << 20));
  EXPECT_TRUE(state.accept('a'));
  EXPECT_EQ(allowed_tokens(state, vocabulary), (std::vector<int>{'a', vocabulary.end}));
  EXPECT_TRUE(state.accept('a'));
  EXPECT_EQ(allowed_tokens(state, vocabulary), (std::vector<int>{vocabulary.end}));
  EXPECT_TRUE(state.accept(vocabulary.end));
  EXPECT_TRUE(state.has_ended());
  EXPECT_FALSE(state.accept('a'));
  EXPECT_EQ(allowed_tokens(state, vocabulary), (std::vector<int>{vocabulary.end}));
}

TEST(GrammarState, ACopyIsAPointToGoBackTo) {
  const SampleVocabulary vocabulary = make_vocabulary();
  GrammarState state(Grammar::json(), vocabulary.tokens);
  ASSERT_TRUE(state.accept_bytes("[1, {\"a\": "));
  GrammarState copy = state;
  const auto before = allowed_tokens(state, vocabulary);
  ASSERT_TRUE(state.accept_bytes("[[[null"));
  EXPECT_FALSE(state.accept_bytes("x"));
  state = copy;
  EXPECT_EQ(allowed_tokens(state, vocabulary), before);
  EXPECT_TRUE(state.accept_bytes("2}]"));
  EXPECT_TRUE(state.is_complete());
}

TEST(GrammarState, RefusedBytesChangeNothing) {
  GrammarState state(Grammar::from_gbnf("root ::= \"abc\""), make_vocabulary().tokens);
  EXPECT_FALSE(state.accept_bytes("abd"));
  EXPECT_TRUE(state.accept_bytes("abc"));
  EXPECT_TRUE(state.is_complete());
}

TEST(GrammarState, TooFewBitsIsAnErrorAndMoreAreCleared) {
  const SampleVocabulary vocabulary = make_vocabulary();
  GrammarState state(Grammar::json(), vocabulary.tokens);
  std::vector<uint32_t> few(2);
  EXPECT_ERROR(state.mask(few), kInvalidArgument, "64 bits for");
  std::vector<uint32_t> more(vocabulary.bytes.size() / 32 + 10, ~0u);
  EXPECT_TRUE(state.mask(more));
  EXPECT_EQ(more.back(), 0u);
}

TEST(GrammarState, AVocabularyThatCannotSayItAllowsNothing) {
  const auto tokens = std::make_shared<const TokenVocabulary>(std::vector<std::string>{"a", "b"}, std::vector<int>{},
                                                              std::vector<int>{5});
  EXPECT_EQ(tokens->size(), 6);
  GrammarState state(Grammar::from_gbnf("root ::= \"ac\""), tokens);
  std::vector<uint32_t> bits(1);
  EXPECT_TRUE(state.mask(bits));
  EXPECT_EQ(bits[0], 1u);
  ASSERT_TRUE(state.accept(0));
  EXPECT_FALSE(state.mask(bits));
  EXPECT_ERROR(TokenVocabulary({}, std::vector<int>{-1}, {}), kInvalidArgument, "bad token id -1");
}

TEST(GrammarState, ThreadsShareTheCache) {
  if (!kHasThreads) GTEST_SKIP() << "this build has no threads";
  const SampleVocabulary vocabulary = make_vocabulary();
  const Grammar grammar = Grammar::json();
  std::vector<std::thread> threads;
  std::vector<int> finished(4, 0);
  for (size_t i = 0; i < finished.size(); ++i) {
    threads.emplace_back([&, i] {
      std::mt19937 random(static_cast<unsigned>(i));
      for (int round = 0; round < 30; ++round) {
        const auto text = sample(grammar, vocabulary, random);
        finished[i] += text && matches(grammar, *text);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const int count : finished) EXPECT_GT(count, 10);
}

}  // namespace
}  // namespace wick
