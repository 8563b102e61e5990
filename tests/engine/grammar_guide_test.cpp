#include "engine/sampling/grammar_guide.h"

#include <gtest/gtest.h>

#include <set>

#include "support/errors.h"

namespace wick {
namespace {

// 0 <think>, 1 </think>, 2 <tool_call> and 6, the end, are control tokens; 3 a, 4 b, 5 x are text.
constexpr int32_t kOpen = 0, kClose = 1, kCall = 2, kA = 3, kB = 4, kX = 5, kEnd = 6;
constexpr int64_t kSize = 7;

std::shared_ptr<const TokenVocabulary> vocabulary() {
  const std::vector<int> special = {kOpen, kClose, kCall, kEnd}, end = {kEnd};
  return std::make_shared<TokenVocabulary>(
      std::vector<std::string>{"<think>", "</think>", "<tool_call>", "a", "b", "x", "</s>"}, special, end);
}

GrammarGuide guide(const GrammarStart& start) {
  return GrammarGuide(Grammar::from_gbnf("root ::= \"ab\""), start, vocabulary(), kSize);
}

using Tokens = std::set<int32_t>;

Tokens allowed(GrammarGuide& guide) {
  const auto mask = guide.mask();
  Tokens tokens;
  for (int32_t token = 0; token < kSize; ++token) {
    if (mask.empty() || (mask[0] >> token & 1)) tokens.insert(token);
  }
  return tokens;
}

// Accepts the tokens, each of which must be allowed.
void take(GrammarGuide& guide, std::initializer_list<int32_t> tokens) {
  for (const int32_t token : tokens) {
    EXPECT_TRUE(allowed(guide).contains(token)) << token;
    guide.accept(token);
  }
}

TEST(GrammarGuide, WithoutAStartTheGrammarIsAll) {
  GrammarGuide plain = guide({});
  EXPECT_EQ(allowed(plain), (Tokens{kA}));
  take(plain, {kA, kB});
  EXPECT_EQ(allowed(plain), (Tokens{kEnd}));
}

TEST(GrammarGuide, ThinkingIsFreeButDoesNotEndTheAnswer) {
  GrammarGuide chooses = guide({.think_open = kOpen, .think_close = kClose});
  EXPECT_EQ(allowed(chooses), (Tokens{kOpen, kA}));
  take(chooses, {kOpen});
  EXPECT_EQ(allowed(chooses), (Tokens{kOpen, kClose, kCall, kA, kB, kX}));
  take(chooses, {kX, kA, kX, kClose});
  EXPECT_EQ(allowed(chooses), (Tokens{kA}));  // it thinks once
  take(chooses, {kA, kB, kEnd});

  GrammarGuide thinks_already = guide({.think_open = kOpen, .think_close = kClose, .is_thinking = true});
  take(thinks_already, {kX, kClose});
  EXPECT_EQ(allowed(thinks_already), (Tokens{kA}));

  GrammarGuide answers = guide({.think_open = kOpen, .think_close = kClose});
  take(answers, {kA});
  EXPECT_EQ(allowed(answers), (Tokens{kB}));  // thinking comes first or not at all
}

TEST(GrammarGuide, ForcedTokensComeFirst) {
  GrammarGuide forced = guide({.think_open = kOpen, .think_close = kClose, .forced = {kCall, kX}});
  EXPECT_EQ(allowed(forced), (Tokens{kOpen, kCall}));
  take(forced, {kOpen, kB, kClose});
  EXPECT_EQ(allowed(forced), (Tokens{kCall}));
  take(forced, {kCall});
  EXPECT_EQ(allowed(forced), (Tokens{kX}));
  take(forced, {kX, kA, kB});
  EXPECT_EQ(allowed(forced), (Tokens{kEnd}));
}

TEST(GrammarGuide, OneTokenLeavesTheGrammarForGood) {
  GrammarGuide leaves = guide({.think_open = kOpen, .think_close = kClose, .leave = kCall});
  EXPECT_EQ(allowed(leaves), (Tokens{kOpen, kCall, kA}));
  take(leaves, {kOpen, kClose});
  EXPECT_EQ(allowed(leaves), (Tokens{kCall, kA}));
  take(leaves, {kCall});
  EXPECT_EQ(allowed(leaves).size(), static_cast<size_t>(kSize));
  take(leaves, {kX, kClose, kEnd});

  GrammarGuide stays = guide({.leave = kCall});
  take(stays, {kA});
  EXPECT_EQ(allowed(stays), (Tokens{kB}));
}

TEST(GrammarGuide, ATextThatNoTokenContinuesIsAnError) {
  GrammarGuide stuck(Grammar::from_gbnf("root ::= \"q\""), {}, vocabulary(), kSize);
  EXPECT_ERROR(stuck.mask(), kInvalidArgument, "no token of the vocabulary continues the text");
}

}  // namespace
}  // namespace wick
