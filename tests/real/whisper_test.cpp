// Whisper base.en as whisper.cpp's users have it, on a recording of 1961.
#include <gtest/gtest.h>

#include "cli/process.h"
#include "real/real_models.h"
#include "speech/whisper/whisper_recognizer.h"
#include "support/places.h"

namespace wick {
namespace {

class RealWhisper : public testing::Test {
 protected:
  void SetUp() override {
    const auto path = real_model("whisper-base.en/ggml-base.en.bin");
    if (!path) GTEST_SKIP() << kHowToGet;
    path_ = *path;
  }
  static Recognition recognize(const SpeechRecognizer& on, const RecognizeOptions& options = {}) {
    const auto sound = open_audio(std::filesystem::path(WICK_SOURCE_DIR) / "tests/fixtures/audio/jfk.wav");
    return on.recognize(*sound, options);
  }
  std::filesystem::path path_;
};

TEST_F(RealWhisper, WritesWhatIsSaid) {
  const auto whisper = WhisperRecognizer::load(path_);
  RecognizeOptions options;
  options.times = TimeDetail::kNone;
  const Recognition heard = recognize(*whisper, options);
  EXPECT_EQ(heard.text,
            "And so my fellow Americans ask not what your country can do for you, ask what you can do for your "
            "country.");
  EXPECT_EQ(heard.language, "en");
  EXPECT_DOUBLE_EQ(heard.seconds, 11);
}

// With times it hears a comma more, as it does in whisper.cpp.
TEST_F(RealWhisper, TellsTimes) {
  const auto whisper = WhisperRecognizer::load(path_);
  const Recognition heard = recognize(*whisper);
  EXPECT_EQ(heard.text,
            "And so my fellow Americans, ask not what your country can do for you, ask what you can do for your "
            "country.");
  ASSERT_EQ(heard.segments.size(), 1u);
  EXPECT_EQ(heard.segments[0].begin, 0);
  EXPECT_NEAR(heard.segments[0].end, 11, 1);
  EXPECT_LT(*heard.segments[0].no_speech, 0.1f);
  EXPECT_GT(*heard.segments[0].mean_logprob, -0.5f);
}

TEST_F(RealWhisper, TellsTheTimesOfWords) {
  const auto whisper = WhisperRecognizer::load(path_);
  ASSERT_TRUE(whisper->facts().tells_words);
  RecognizeOptions options;
  options.times = TimeDetail::kWords;
  const Recognition heard = recognize(*whisper, options);
  std::string words;
  double before = 0;
  for (const RecognizedWord& word : heard.segments.at(0).words) {
    words += (words.empty() ? "" : " ") + word.text;
    EXPECT_GE(word.begin, before);
    EXPECT_GE(word.end, word.begin);
    EXPECT_LE(word.end, 11);
    before = word.end;
  }
  EXPECT_EQ(words, heard.text);
  // "country" is said twice, with a pause behind the first half of the sentence.
  const auto& last = heard.segments.at(0).words.back();
  EXPECT_NEAR(last.begin, 9.9, 0.4);
  EXPECT_NEAR(last.end, 10.5, 0.5);
  EXPECT_NEAR(heard.segments.at(0).words.at(9).begin, 5.7, 0.4);
}

TEST_F(RealWhisper, SearchesWithBeams) {
  const auto whisper = WhisperRecognizer::load(path_);
  RecognizeOptions options;
  options.beams = 5;
  const Recognition heard = recognize(*whisper, options);
  EXPECT_NE(heard.text.find("ask not what your country can do for you"), std::string::npos) << heard.text;
  EXPECT_GE(*heard.segments.at(0).mean_logprob, *recognize(*whisper).segments.at(0).mean_logprob - 0.01f);
}

// Three times with pauses, which is more than a window.
TEST_F(RealWhisper, GoesThroughLongRecordings) {
  const auto whisper = WhisperRecognizer::load(path_);
  const auto once =
      read_all(*open_audio(std::filesystem::path(WICK_SOURCE_DIR) / "tests/fixtures/audio/jfk.wav"), 1 << 20);
  std::vector<float> sound;
  for (int i = 0; i < 3; ++i) {
    sound.insert(sound.end(), once.begin(), once.end());
    sound.resize(sound.size() + 40000);
  }
  AudioOptions raw;
  raw.raw = RawAudio{SampleFormat::kF32, 16000, 1};
  const auto reader = open_audio_in_memory("sound", std::as_bytes(std::span(sound)), nullptr, raw);
  const Recognition heard = whisper->recognize(*reader);
  size_t count = 0;
  for (size_t at = 0; (at = heard.text.find("what you can do for your country.", at)) != std::string::npos; ++at)
    ++count;
  EXPECT_EQ(count, 3u) << heard.text;
  EXPECT_NEAR(heard.seconds, 40.5, 1e-3);
  for (const RecognizedSegment& segment : heard.segments) {
    EXPECT_LT(segment.begin, segment.end);
    EXPECT_LE(segment.end, 41);
  }
}

// The lists that Hugging Face ships are those made with the tokenizer.
TEST(RealWhisperTokenizer, HasTheListsOfTheOriginal) {
  const auto path = real_model("whisper-tiny-onnx/tokenizer.json");
  if (!path) GTEST_SKIP() << kHowToGet;
  const Tokenizer tokenizer = Tokenizer::load(*path);
  const WhisperTokens tokens = WhisperTokens::find(tokenizer, 51865, 1501, false);
  EXPECT_EQ(tokens.first_time, 50364);
  EXPECT_EQ(tokens.languages.size(), 99u);
  const WhisperRules made(tokens, tokenizer, 51865, Json());
  const WhisperRules given(tokens, tokenizer, 51865, Json::load(path->parent_path() / "generation_config.json"));
  EXPECT_EQ(made.never(), given.never());
  EXPECT_EQ(made.not_first(), given.not_first());
  EXPECT_GT(made.never().size(), 180u);
}

}  // namespace
}  // namespace wick
