// Recordings through a tiny Whisper whose weights are random: what it writes means nothing, but all of it is checked.
#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "speech/whisper/whisper_recognizer.h"
#include "support/errors.h"
#include "support/temp_folder.h"
#include "support/tiny_whisper.h"

namespace wick {
namespace {

// Sound that comes and goes, as speech does.
std::vector<float> babble(double seconds, float pitch = 150) {
  std::vector<float> sound(static_cast<size_t>(16000 * seconds));
  for (size_t i = 0; i < sound.size(); ++i) {
    const float t = static_cast<float>(i) / 16000;
    const float loud = std::max(0.0f, std::sin(2 * 3.14159265f * 2.1f * t));
    sound[i] = 0.3f * loud * std::sin(2 * 3.14159265f * pitch * t) * std::cos(2 * 3.14159265f * 7 * pitch * t);
  }
  return sound;
}

std::unique_ptr<AudioReader> reader(const std::vector<float>& sound) {
  AudioOptions options;
  options.raw = RawAudio{SampleFormat::kF32, 16000, 1};
  return open_audio_in_memory("sound", std::as_bytes(std::span(sound)), nullptr, options);
}

Recognition recognize(const SpeechRecognizer& on, const std::vector<float>& sound,
                      const RecognizeOptions& options = {}) {
  return on.recognize(*reader(sound), options);
}

void expect_same(const Recognition& a, const Recognition& b) {
  EXPECT_EQ(a.text, b.text);
  EXPECT_EQ(a.language, b.language);
  EXPECT_EQ(a.tokens, b.tokens);
  ASSERT_EQ(a.segments.size(), b.segments.size());
  for (size_t i = 0; i < a.segments.size(); ++i) {
    EXPECT_EQ(a.segments[i].tokens, b.segments[i].tokens);
    EXPECT_EQ(a.segments[i].begin, b.segments[i].begin);
    EXPECT_EQ(a.segments[i].mean_logprob, b.segments[i].mean_logprob);
  }
}

TEST(WhisperRecognizer, TellsWhatItIs) {
  const auto whisper = tiny_whisper();
  EXPECT_EQ(whisper->facts().label, "tiny");
  EXPECT_EQ(whisper->facts().family, "whisper");
  EXPECT_EQ(whisper->facts().languages, (std::vector<std::string>{"en", "de", "fr"}));
  EXPECT_TRUE(whisper->facts().translates);
  const auto english = tiny_whisper(R"({"is_multilingual": false})");
  EXPECT_EQ(english->facts().languages, std::vector<std::string>{"en"});
  EXPECT_FALSE(english->facts().translates);
}

// Sound of several windows; everything that is told on the way adds up to the result.
TEST(WhisperRecognizer, GoesFromWindowToWindow) {
  const auto whisper = tiny_whisper();
  const std::vector<float> sound = babble(7.3);
  std::string told;
  std::vector<std::string> segments;
  double done = 0;
  const Recognition heard = whisper->recognize(*reader(sound), {}, [&](const RecognizeEvent& event) {
    told += event.text;
    EXPECT_GE(event.done, done - 2);
    done = event.done;
    if (event.segment) segments.push_back(event.segment->text);
    return true;
  });
  EXPECT_NEAR(heard.seconds, 7.3, 1e-4);
  EXPECT_EQ(told, heard.text);
  ASSERT_EQ(segments.size(), heard.segments.size());
  ASSERT_GE(heard.segments.size(), 3u);
  EXPECT_GT(heard.tokens, 0);
  double begin = 0;
  for (size_t i = 0; i < segments.size(); ++i) {
    const RecognizedSegment& segment = heard.segments[i];
    EXPECT_EQ(segments[i], segment.text);
    EXPECT_GE(segment.begin, begin - 1e-9);
    EXPECT_GT(segment.end, segment.begin);
    EXPECT_LE(segment.end, 7.3 + 1e-4);
    EXPECT_NE(heard.text.find(segment.text), std::string::npos);
    begin = segment.begin;
  }
  EXPECT_GE(heard.took.encoder, 0);
}

TEST(WhisperRecognizer, WritesTheSameAgainAndBesideOthers) {
  const auto whisper = tiny_whisper();
  const std::vector<float> first = babble(4.5), second = babble(3.1, 220);
  RecognizeOptions beams;
  beams.beams = 3;
  const Recognition alone[] = {recognize(*whisper, first), recognize(*whisper, second, beams)};
  Recognition together[2];
  std::thread other([&] { together[1] = recognize(*whisper, second, beams); });
  together[0] = recognize(*whisper, first);
  other.join();
  for (int i = 0; i < 2; ++i) expect_same(together[i], alone[i]);
  const ThreadCount one(1);
  expect_same(recognize(*whisper, first), alone[0]);
}

TEST(WhisperRecognizer, SeedsMatter) {
  const auto whisper = tiny_whisper();
  RecognizeOptions options;
  options.temperature = 0.7f;
  const Recognition first = recognize(*whisper, babble(2), options);
  expect_same(recognize(*whisper, babble(2), options), first);
  options.seed = 1;
  EXPECT_NE(recognize(*whisper, babble(2), options).text, first.text);
}

TEST(WhisperRecognizer, SilenceGivesNoText) {
  const auto whisper = tiny_whisper();
  for (const double seconds : {0.0, 0.01, 1.0, 5.5}) {
    double done = 0;
    const std::vector<float> silence(static_cast<size_t>(16000 * seconds));
    const Recognition heard = whisper->recognize(*reader(silence), {}, [&](const RecognizeEvent& event) {
      EXPECT_TRUE(event.text.empty());
      EXPECT_GT(event.done, done);
      done = event.done;
      return true;
    });
    EXPECT_EQ(heard.text, "");
    EXPECT_EQ(heard.language, "");
    EXPECT_TRUE(heard.segments.empty());
    EXPECT_NEAR(heard.seconds, seconds, 1e-4);
    EXPECT_NEAR(done, seconds, 1e-4);
    EXPECT_EQ(heard.took.encoder, 0) << "the model was asked";
  }
  // The model is asked where the caller wants that.
  RecognizeOptions options;
  options.skips_silence = false;
  EXPECT_GT(recognize(*whisper, std::vector<float>(16000), options).took.encoder, 0);
}

TEST(WhisperRecognizer, StopsWhenToldTo) {
  const auto whisper = tiny_whisper();
  const Recognition all = recognize(*whisper, babble(7.3));
  int calls = 0;
  const Recognition some =
      whisper->recognize(*reader(babble(7.3)), {}, [&](const RecognizeEvent&) { return ++calls < 2; });
  EXPECT_EQ(calls, 2);
  ASSERT_EQ(some.segments.size(), 2u);
  EXPECT_EQ(some.segments[1].tokens, all.segments[1].tokens);
}

TEST(WhisperRecognizer, LeavesOutTimes) {
  const auto whisper = tiny_whisper();
  RecognizeOptions options;
  options.times = TimeDetail::kNone;
  const Recognition heard = recognize(*whisper, babble(1.5), options);
  ASSERT_EQ(heard.segments.size(), 1u);
  EXPECT_EQ(heard.segments[0].begin, 0);
  EXPECT_DOUBLE_EQ(heard.segments[0].end, 1.5);
  for (const int32_t token : heard.segments[0].tokens) EXPECT_LT(token, kTinyTime);
}

TEST(WhisperRecognizer, TellsTheTimesOfWords) {
  const auto whisper = tiny_whisper(R"({"alignment_heads": [[0, 1], [1, 3]]})");
  RecognizeOptions options;
  const Recognition without = recognize(*whisper, babble(5), options);
  options.times = TimeDetail::kWords;
  const Recognition heard = recognize(*whisper, babble(5), options);
  EXPECT_EQ(heard.text, without.text);
  ASSERT_FALSE(heard.segments.empty());
  for (const RecognizedSegment& segment : heard.segments) {
    std::string letters, expected;
    for (const RecognizedWord& word : segment.words) {
      letters += word.text;
      EXPECT_GE(word.begin, 0);
      EXPECT_GE(word.end, word.begin);
      EXPECT_LE(word.end, 5);
      EXPECT_GT(*word.probability, 0);
      EXPECT_LE(*word.probability, 1);
    }
    for (const char c : segment.text) {
      if (c != ' ') expected += c;
    }
    EXPECT_EQ(letters, expected);
  }
  for (const RecognizedSegment& segment : without.segments) EXPECT_TRUE(segment.words.empty());
  EXPECT_ERROR(tiny_whisper(R"({"alignment_heads": [[2, 0]]})"), kBadFile, "names a head that the model does not have");
}

TEST(WhisperRecognizer, TakesTheLanguageTheTaskAndTheContext) {
  const auto whisper = tiny_whisper();
  RecognizeOptions options;
  options.language = "french";
  const Recognition french = recognize(*whisper, babble(1.5), options);
  EXPECT_EQ(french.language, "fr");
  options.task = SpeechTask::kTranslate;
  const Recognition translated = recognize(*whisper, babble(1.5), options);
  EXPECT_NE(*translated.segments.at(0).mean_logprob, *french.segments.at(0).mean_logprob);
  options.context = "ABC <|endoftext|>";
  const Recognition with_context = recognize(*whisper, babble(1.5), options);
  EXPECT_NE(*with_context.segments.at(0).mean_logprob, *translated.segments.at(0).mean_logprob);
  options.context = std::string(5000, 'a');  // more than fits
  EXPECT_FALSE(recognize(*whisper, babble(1.5), options).text.empty());
}

TEST(WhisperRecognizer, RefusesWhatItDoesNotHave) {
  const auto whisper = tiny_whisper();
  const auto with = [](auto change) {
    RecognizeOptions options;
    change(options);
    return options;
  };
  const std::vector<float> sound = babble(1);
  EXPECT_ERROR(recognize(*whisper, sound, with([](auto& o) { o.language = "es"; })), kInvalidArgument,
               "the language 'es' is not one of those this whisper knows: en, de, fr");
  EXPECT_ERROR(recognize(*whisper, sound, with([](auto& o) { o.language = "Klingon"; })), kInvalidArgument, "Klingon");
  EXPECT_ERROR(recognize(*whisper, sound, with([](auto& o) { o.beams = 0; })), kInvalidArgument, "beams = 0");
  EXPECT_ERROR(recognize(*whisper, sound, with([](auto& o) { o.beams = 99; })), kInvalidArgument, "1 to 16");
  EXPECT_ERROR(recognize(*whisper, sound, with([](auto& o) { o.temperature = NAN; })), kInvalidArgument, "temperature");
  const auto english = tiny_whisper(R"({"is_multilingual": false})");
  EXPECT_ERROR(recognize(*english, sound, with([](auto& o) { o.language = "de"; })), kInvalidArgument, "'de'");
  EXPECT_ERROR(recognize(*english, sound, with([](auto& o) { o.task = SpeechTask::kTranslate; })), kInvalidArgument,
               "does not translate");
  EXPECT_EQ(recognize(*english, sound, with([](auto& o) { o.language = "English"; })).language, "en");
}

TEST(WhisperRecognizer, SaysWhatAFolderLacks) {
  EXPECT_ERROR(WhisperRecognizer::load(family_folder("whisper")), kIo, "holds no tokenizer.json");
  EXPECT_ERROR(WhisperRecognizer::load(family_folder("qwen3")), kUnsupported, "is not that of a whisper");
}

}  // namespace
}  // namespace wick
