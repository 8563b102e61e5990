// What Whisper may write next, where its text is cut, and what its vocabulary holds.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "speech/text_compression.h"
#include "speech/whisper/whisper_segments.h"
#include "support/errors.h"
#include "support/ggml_model.h"
#include "support/tiny_whisper.h"

namespace wick {
namespace {

constexpr float kNever = -INFINITY;

class RulesTest : public testing::Test {
 protected:
  // The tokens that may follow.
  std::set<int32_t> allowed(const std::vector<int32_t>& generated, bool times = true) const {
    std::vector<float> logits(200, 1.0f);
    rules_.apply(logits, generated, times);
    std::set<int32_t> left;
    for (int32_t i = 0; i < 200; ++i) {
      if (logits[static_cast<size_t>(i)] != kNever) left.insert(i);
    }
    return left;
  }
  static std::set<int32_t> range(int32_t begin, int32_t end) {
    std::set<int32_t> all;
    for (int32_t i = begin; i < end; ++i) all.insert(i);
    return all;
  }
  // Letters that are not on the list.
  std::set<int32_t> letters() const {
    std::set<int32_t> left = range(0, kTinyLetters);
    for (const int32_t token : rules_.never()) left.erase(token);
    return left;
  }
  static std::set<int32_t> both(std::set<int32_t> a, const std::set<int32_t>& b) {
    a.insert(b.begin(), b.end());
    return a;
  }
  WhisperRules rules_{tiny_whisper_tokens(), tiny_whisper_tokenizer(), 200, Json()};
};

constexpr int32_t kT = kTinyTime;

TEST_F(RulesTest, BeginsWithATimeOfAtMostASecond) { EXPECT_EQ(allowed({}), range(kT, kT + 51)); }

TEST_F(RulesTest, ATimeIsFollowedByText) { EXPECT_EQ(allowed({kT + 3}), both(letters(), {kTinyEnd})); }

TEST_F(RulesTest, TextIsFollowedByTextOrALaterTime) {
  EXPECT_EQ(allowed({kT + 3, 40}), both(both(letters(), {kTinyEnd}), range(kT + 4, 200)));
}

TEST_F(RulesTest, TheEndOfASegmentIsFollowedByABeginOrTheEnd) {
  EXPECT_EQ(allowed({kT + 3, 40, kT + 9}), both({kTinyEnd}, range(kT + 9, 200)));
}

TEST_F(RulesTest, ASecondTimeIsFollowedByText) {
  EXPECT_EQ(allowed({kT + 3, 40, kT + 9, kT + 9}), both(letters(), {kTinyEnd}));
  EXPECT_EQ(allowed({kT + 3, 40, kT + 9, kT + 12, 41}), both(both(letters(), {kTinyEnd}), range(kT + 13, 200)));
}

TEST_F(RulesTest, WithoutTimesThereIsText) {
  std::set<int32_t> first = letters();
  first.erase(0);  // a blank
  EXPECT_EQ(allowed({}, false), first);
  EXPECT_EQ(allowed({40}, false), both(letters(), {kTinyEnd}));
}

TEST_F(RulesTest, SignsThatNobodySaysAreNotWritten) {
  const Tokenizer tokenizer = tiny_whisper_tokenizer();
  std::string never;
  for (const int32_t token : rules_.never()) {
    if (token < kTinyLetters) never += tokenizer.bytes(token);
  }
  // " -" and " '" are not single tokens here: their first token is the blank.
  EXPECT_EQ(never, " \"#()*+/:;<=>@[\\]^_`");
  const WhisperRules given(tiny_whisper_tokens(), tokenizer, 200,
                           Json::parse(R"({"suppress_tokens":[5,3],"begin_suppress_tokens":[7]})", "generation"));
  EXPECT_EQ(std::vector<int32_t>(given.never().begin(), given.never().begin() + 3), (std::vector<int32_t>{3, 5, 89}));
  EXPECT_EQ(given.not_first(), (std::vector<int32_t>{7, kTinyEnd}));
  EXPECT_ERROR(WhisperRules(tiny_whisper_tokens(), tokenizer, 200, Json::parse(R"({"suppress_tokens":[200]})", "g")),
               kBadFile, "g: 'suppress_tokens' names token 200, but there are 200");
}

TEST_F(RulesTest, TimesThatAreLikelierTogetherWin) {
  std::vector<float> logprobs(200, kNever);
  logprobs[40] = std::log(0.4f);
  logprobs[kT + 5] = logprobs[kT + 6] = std::log(0.3f);
  std::vector<float> less = logprobs;
  rules_.prefer_times(logprobs);
  EXPECT_EQ(logprobs[40], kNever);
  EXPECT_NEAR(logprobs[kT + 5], std::log(0.5f), 1e-6);
  less[40] = std::log(0.7f);
  const std::vector<float> before = less;
  rules_.prefer_times(less);
  EXPECT_EQ(less, before);
}

std::vector<std::array<double, 3>> cut(const std::vector<int32_t>& generated, double seconds, double* next) {
  const WhisperCut made = cut_at_times(generated, tiny_whisper_tokens(), seconds);
  std::vector<std::array<double, 3>> parts;
  for (const WhisperSegment& part : made.segments) {
    parts.push_back({part.begin, part.end, static_cast<double>(part.tokens.size())});
    EXPECT_EQ(part.tokens.data(), generated.data() + part.first);
  }
  *next = made.next;
  return parts;
}

using Parts = std::vector<std::array<double, 3>>;

TEST(WhisperCutTest, CutsAtPairsOfTimes) {
  double next = 0;
  // Two segments, and a third that has begun: the next window begins with it.
  EXPECT_EQ(cut({kT, 1, 2, kT + 25, kT + 30, 3, kT + 50, kT + 50, 4}, 2, &next), (Parts{{0, 0.5, 4}, {0.6, 1, 3}}));
  EXPECT_DOUBLE_EQ(next, 1);
  // The last one ended alone: nothing is said behind it.
  EXPECT_EQ(cut({kT, 1, kT + 25, kT + 30, 3, kT + 50}, 1.5, &next), (Parts{{0, 0.5, 3}, {0.6, 1, 3}}));
  EXPECT_DOUBLE_EQ(next, 1.5);
  EXPECT_EQ(cut({kT, 1, 2, kT + 50}, 2, &next), (Parts{{0, 1, 4}}));
  EXPECT_DOUBLE_EQ(next, 2);
  EXPECT_EQ(cut({kT, 1, 2}, 2, &next), (Parts{{0, 2, 3}}));
  EXPECT_EQ(cut({}, 2, &next), Parts{});
  EXPECT_DOUBLE_EQ(next, 2);
  // Times behind the end of the sound are its end.
  EXPECT_EQ(cut({kT, 1, kT + 90}, 0.75, &next), (Parts{{0, 0.75, 3}}));
}

TEST(WhisperTokensTest, FindsThemByName) {
  const WhisperTokens tokens = tiny_whisper_tokens();
  EXPECT_EQ(tokens.end, 88);
  EXPECT_EQ(tokens.start, 89);
  ASSERT_EQ(tokens.languages.size(), 3u);
  EXPECT_EQ(tokens.token_of("fr"), 92);
  EXPECT_EQ(tokens.token_of("es"), std::nullopt);
  EXPECT_EQ(tokens.translate, 93);
  EXPECT_EQ(tokens.no_speech, 97);
  EXPECT_EQ(tokens.first_time, 99);
  EXPECT_EQ(tokens.times, 101);
  EXPECT_TRUE(tiny_whisper_tokens(true).languages.empty());
  EXPECT_ERROR(WhisperTokens::find(tiny_whisper_tokenizer(), 100, 101, false), kBadFile,
               "<|notimestamps|> is token 98 of 100, and the times do not follow it");
  EXPECT_ERROR(WhisperTokens::find(tiny_whisper_tokenizer(), 98, 101, false), kBadFile,
               "the token <|notimestamps|> is 98, but the model's vocabulary has 98");
  const Tokenizer none = Tokenizer::from_ranks(std::vector<std::string_view>{"a"}, {}, kGpt2Pattern, "none");
  EXPECT_ERROR(WhisperTokens::find(none, 200, 101, false), kBadFile, "the tokenizer has no <|endoftext|>");
}

// The layout of the released models, from a ggml file that holds the text alone, or the end of a text, too.
TEST(WhisperTokensTest, TheVocabularyOfAGgmlFile) {
  const auto file = [](int32_t vocabulary, size_t tokens) {
    GgmlBytes bytes({vocabulary, 4, 32, 2, 1, 8, 32, 2, 1, 1, 1});
    std::vector<std::string> names;
    for (size_t i = 0; i < tokens; ++i) names.push_back(i == 7 ? std::string() : cat("<", i, ">"));
    return file_in_memory(bytes.vocabulary(names).bytes(), "ggml-x.bin");
  };
  struct Case {
    int32_t vocabulary, start, transcribe, first_time, languages;
  };
  for (const Case& model : {Case{51864, 50257, 50358, 50363, 0}, Case{51865, 50258, 50359, 50364, 99},
                            Case{51866, 50258, 50360, 50365, 100}}) {
    const Tokenizer tokenizer = ggml_tokenizer(*file(model.vocabulary, 50257), model.vocabulary);
    EXPECT_EQ(tokenizer.vocab_size(), model.vocabulary);
    const WhisperTokens tokens =
        WhisperTokens::find(tokenizer, model.vocabulary, 1501, is_english_vocabulary(model.vocabulary));
    EXPECT_EQ(tokens.start, model.start);
    EXPECT_EQ(tokens.transcribe, model.transcribe);
    EXPECT_EQ(tokens.first_time, model.first_time);
    EXPECT_EQ(static_cast<int32_t>(tokens.languages.size()), model.languages);
    EXPECT_EQ(tokens.times, 1501);
    EXPECT_EQ(tokenizer.piece(model.vocabulary - 1), "<|30.00|>");
    EXPECT_FALSE(tokenizer.has(7));
  }
  EXPECT_ERROR(ggml_tokenizer(*file(51865, 50256), 51865), kBadFile,
               "ggml-x.bin: has 50256 tokens, which do not make up a vocabulary of Whisper's 51865");
  EXPECT_ERROR(ggml_tokenizer(*file(2000, 5), 2000), kBadFile, "has 5 tokens");
}

TEST(CompressionTest, IsNearWhatZlibGives) {
  const auto repeated = [](const std::string& text, int times) {
    std::string all;
    for (int i = 0; i < times; ++i) all += text;
    return all;
  };
  EXPECT_EQ(compression_ratio(""), 0);
  const std::pair<std::string, double> cases[] = {
      {"Yes.", 0.333},
      {"And so my fellow Americans, ask not what your country can do for you, ask what you can do for your country.",
       1.354},
      {repeated("I don't know what to say. I don't know. ", 6), 5.854},
      {repeated("Thank you. ", 30), 13.75},
      {"こんにちは、今日はとても良い天気ですね。明日も晴れるといいですね。", 1.151},
      {"The quick brown fox jumps over the lazy dog while seventeen gulls cry above the harbour, and nobody on the "
       "pier looks up from the chess boards that the city put there in spring. A ferry leaves at nine, another at "
       "noon; the last one, which is always late, carries mostly cooks and nurses home. They sleep, or pretend to, or "
       "watch the lights of the refinery until the bay opens.",
       1.586},
  };
  for (const auto& [text, expected] : cases) EXPECT_NEAR(compression_ratio(text) / expected, 1, 0.06) << text;
}

}  // namespace
}  // namespace wick
