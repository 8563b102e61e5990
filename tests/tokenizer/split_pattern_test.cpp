#include "tokenizer/stages/split_pattern.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "base/utf8.h"
#include "tokenizer/stages/pattern.h"
#include "tokenizer/stages/pretokenizers.h"

namespace wick {
namespace {

std::string joined(std::string_view text, const std::vector<Span>& spans) {
  std::string out;
  for (const Span span : spans) out += std::string(text.substr(span.begin, span.size())) + "|";
  return out;
}

std::string by_engine(std::string_view pattern, std::string_view text) {
  static std::map<std::string_view, Regex> compiled;
  const auto regex = compiled.try_emplace(pattern, pattern, "test").first;
  std::vector<Span> spans;
  for (const Match& match : find_all(regex->second, text)) spans.push_back(match.bytes);
  return joined(text, spans);
}

std::string by_hand(KnownPattern pattern, std::string_view text) {
  std::vector<Span> spans;
  split_known(pattern, text, {0, static_cast<uint32_t>(text.size())}, spans);
  return joined(text, spans);
}

// Characters that the patterns tell apart, and some at the edges of their sets.
std::string random_text(std::mt19937& random) {
  constexpr std::u32string_view kAlphabet =
      U"  "
      U"\t\n\r\n''''sStTmMdDlLrReEvV\u017F1239aZé\u0301世カ한\u00A0\u3000\u2028\u0085\u180E\u200B.,!?-_=<>"
      U"½Ⅷ²٣😀𝔘𝟙\uFEFF\u00AA";
  std::string text;
  for (unsigned n = random() % 24; n > 0; --n) append_utf8(text, kAlphabet[random() % kAlphabet.size()]);
  return text;
}

TEST(SplitPattern, MatchesWhatTheEngineMatches) {
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    const std::string text = random_text(random);
    ASSERT_EQ(by_hand(KnownPattern::kGpt2, text), by_engine(kGpt2Pattern, text)) << in_quotes(text);
    ASSERT_EQ(by_hand(KnownPattern::kWords1, text), by_engine(kWords1Pattern, text)) << in_quotes(text);
    ASSERT_EQ(by_hand(KnownPattern::kWords3, text), by_engine(kWords3Pattern, text)) << in_quotes(text);
  }
}

TEST(SplitPattern, EveryCodePointIsInTheSameSet) {
  const Regex unassigned(R"(\p{Cn})", "test");
  for (char32_t c = 1; c < 0x20000; ++c) {
    if (c >= 0xD800 && c < 0xE000) continue;
    std::string text = "a";
    append_utf8(text, c);
    text += "1 ";
    append_utf8(text, c);
    // The libraries know different versions of Unicode; what is unassigned in one may be a letter in the other.
    if (unassigned.find(text, 1).value_or(Span{}).begin == 1) continue;
    ASSERT_EQ(by_hand(KnownPattern::kWords3, text), by_engine(kWords3Pattern, text)) << static_cast<uint32_t>(c);
  }
}

TEST(Regex, ReadsWhatOnigurumaReads) {
  EXPECT_EQ(by_engine(R"([a-z&&[^aeiou]]+)", "hello"), "h|e|ll|o|");
  EXPECT_EQ(by_engine(R"([[ab]c]+)", "abcd"), "abc|d|");
  EXPECT_EQ(by_engine(R"([^[ab]c]+)", "abcd"), "abc|d|");
  EXPECT_EQ(by_engine(R"(\p{Letter}+|\p{^L})", "ab1"), "ab|1|");
  EXPECT_EQ(by_engine(R"(\h+)", "0aFg"), "0aF|g|");
  EXPECT_EQ(by_engine(R"(\s)", "a\u180E\u0085b"), "a\u180E|\u0085|b|");
  EXPECT_EQ(by_engine(R"(a$)", "a\na"), "a|\n|a|");
  EXPECT_EQ(by_engine(R"((?=(\d{3})+(?!\d)))", "1234567"), "1|234|567|");
}

}  // namespace
}  // namespace wick
