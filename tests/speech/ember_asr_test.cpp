// Ember-ASR from sound to text: what the reference hears, however sound and requests are cut and batched.
#include <gtest/gtest.h>

#include <future>
#include <numeric>
#include <random>

#include "speech/qwen3_asr/qwen3_asr_recognizer.h"
#include "speech/speech_stream.h"
#include "speech/transcriber.h"
#include "support/errors.h"
#include "support/needs_ember.h"
#include "support/speech_samples.h"

namespace wick {
namespace {

const std::vector<SpeechSample>& samples() {
  static const std::vector<SpeechSample> all = speech_samples();
  return all;
}

Recognition recognize(const SpeechRecognizer& recognizer, std::span<const float> sound,
                      const RecognizeOptions& options = {}) {
  return recognizer.recognize(*read_samples(sound), options);
}

class EmberAsr : public testing::Test {
 protected:
  void SetUp() override { WICK_NEEDS_EMBER(); }
  // One for all tests: they must not disturb each other.
  static const std::shared_ptr<const SpeechRecognizer>& ember() {
    static const std::shared_ptr<const SpeechRecognizer> recognizer = load_recognizer({});
    return recognizer;
  }
};

TEST_F(EmberAsr, HearsWhatTheReferenceHears) {
  ASSERT_EQ(samples().size(), 12u);
  for (const SpeechSample& sample : samples()) {
    const Recognition heard = ember()->recognize(*open_audio(sample.file));
    EXPECT_EQ(heard.text, sample.heard) << sample.file;
    EXPECT_EQ(heard.language, "en");
    ASSERT_EQ(heard.segments.size(), 1u);
    EXPECT_EQ(heard.segments[0].text, heard.text);
    EXPECT_EQ(heard.segments[0].begin, 0);
    EXPECT_NEAR(heard.segments[0].end, heard.seconds, 1e-6);
    EXPECT_LT(*heard.segments[0].mean_logprob, 0);
  }
}

TEST_F(EmberAsr, HearsAlmostTheSameWithFewerBits) {
  for (const char* type : {"q8_0", "q4_0"}) {
    RecognizerOptions options;
    options.quantize = type;
    const auto recognizer = load_recognizer({}, options);
    EXPECT_LT(recognizer->facts().weight_bytes, ember()->facts().weight_bytes);
    int64_t errors = 0, words = 0;
    for (const SpeechSample& sample : samples()) {
      errors += word_errors(recognizer->recognize(*open_audio(sample.file)).text, sample.said);
      words += std::ssize(words_of(sample.said));
    }
    EXPECT_LE(static_cast<double>(errors), 0.1 * static_cast<double>(words)) << type << ": " << errors;
  }
}

TEST_F(EmberAsr, SilenceHasNoText) {
  std::mt19937 random(7);
  std::normal_distribution<float> noise(0, 1e-3f);
  for (const double seconds : {0.0, 0.01, 0.4, 3.0, 20.0}) {
    std::vector<float> sound(static_cast<size_t>(seconds * 16000));
    EXPECT_EQ(recognize(*ember(), sound).text, "") << seconds;
    RecognizeOptions keep;
    keep.skips_silence = false;  // the model is asked, and says that nobody speaks
    EXPECT_EQ(recognize(*ember(), sound, keep).text, "") << seconds;
    for (float& sample : sound) sample = noise(random);
    const Recognition heard = recognize(*ember(), sound);
    EXPECT_EQ(heard.text, "") << seconds;
    EXPECT_TRUE(heard.segments.empty());
    EXPECT_NEAR(heard.seconds, seconds, 1e-9);
  }
}

TEST_F(EmberAsr, LongSoundIsCutAtPauses) {
  const std::vector<float> sound = some_speech(1.5);
  const Recognition heard = recognize(*ember(), sound);
  EXPECT_EQ(heard.segments.size(), samples().size());
  std::string said;
  for (const SpeechSample& sample : samples()) said += sample.said + " ";
  EXPECT_LE(word_errors(heard.text, said), std::ssize(words_of(said)) / 10) << heard.text;
  std::string joined;
  for (const RecognizedSegment& segment : heard.segments) {
    EXPECT_LT(segment.begin, segment.end);
    joined += (joined.empty() ? "" : " ") + segment.text;
  }
  EXPECT_EQ(heard.text, joined);
  // The first begins after the pause, but for what is kept of it.
  EXPECT_GE(heard.segments[0].begin, 0.9);
  EXPECT_LE(heard.segments[0].begin, 1.5);
}

// All at once, one after the other, portions of any size: the same text, bit for bit the same tokens.
TEST_F(EmberAsr, TheTextDoesNotDependOnCompany) {
  std::vector<std::vector<float>> sounds;
  for (const SpeechSample& sample : samples()) sounds.push_back(sample.samples());
  sounds.push_back(some_speech(1.2, 5));
  std::vector<Recognition> alone;
  for (const auto& sound : sounds) alone.push_back(recognize(*ember(), sound));
  std::vector<std::future<Recognition>> together;
  for (const auto& sound : sounds) {
    together.push_back(std::async(std::launch::async, [&] { return recognize(*load_recognizer({}), sound); }));
  }
  const auto fresh = load_recognizer({});
  for (const auto& sound : sounds) {
    together.push_back(std::async(std::launch::async, [&] { return recognize(*fresh, sound); }));
  }
  for (size_t i = 0; i < together.size(); ++i) {
    const Recognition& expected = alone[i % sounds.size()];
    const Recognition heard = together[i].get();
    EXPECT_EQ(heard.text, expected.text);
    ASSERT_EQ(heard.segments.size(), expected.segments.size());
    for (size_t s = 0; s < heard.segments.size(); ++s) {
      EXPECT_EQ(heard.segments[s].tokens, expected.segments[s].tokens);
      EXPECT_EQ(heard.segments[s].mean_logprob, expected.segments[s].mean_logprob);
    }
  }
}

// All places of sound have one token: the prefix cache must know texts by the sound in them.
TEST_F(EmberAsr, SoundsOfOneLengthAreNotMixedUp) {
  std::vector<std::vector<float>> sounds;
  for (const size_t i : {3, 4, 6}) {
    sounds.push_back(samples()[i].samples());
    sounds.back().resize(2 * 16000);
  }
  const auto shared = load_recognizer({});
  std::vector<std::string> texts;
  for (const auto& sound : sounds) texts.push_back(recognize(*load_recognizer({}), sound).text);
  EXPECT_NE(texts[0], texts[1]);
  EXPECT_NE(texts[1], texts[2]);
  for (int round = 0; round < 2; ++round) {
    std::vector<std::future<std::string>> together;
    for (const auto& sound : sounds) {
      together.push_back(std::async(std::launch::async, [&] { return recognize(*shared, sound).text; }));
    }
    for (size_t i = 0; i < sounds.size(); ++i) EXPECT_EQ(together[i].get(), texts[i]);
  }
}

TEST_F(EmberAsr, AStreamEndsWithTheTextOfTheFile) {
  const std::vector<float> sound = some_speech(1.3, 4);
  const Recognition whole = recognize(*ember(), sound);
  std::mt19937 random(11);
  for (const size_t portion : {size_t{1600}, size_t{7001}, size_t{0}}) {
    SpeechStream stream(ember(), {});
    std::vector<std::string> segments;
    std::vector<double> begins;
    int64_t partials = 0, speeches = 0;
    std::string partial;
    const auto listen = [&](const StreamEvent& event) {
      if (event.kind == StreamEvent::Kind::kSpeech) ++speeches;
      if (event.kind == StreamEvent::Kind::kPartial) {
        ++partials;
        partial = event.text;
      }
      if (event.kind != StreamEvent::Kind::kSegment) return;
      segments.emplace_back(event.text);
      begins.push_back(event.begin);
      EXPECT_EQ(event.language, "en");
      if (portion == 0) return;  // so much at once may hold the whole piece
      EXPECT_FALSE(partial.empty());
      EXPECT_LE(word_errors(partial, segments.back()), 3) << partial;  // the last one was nearly right
    };
    for (size_t at = 0; at < sound.size();) {
      const size_t count = std::min(portion ? portion : 1 + random() % 30000, sound.size() - at);
      stream.push(std::span(sound).subspan(at, count), listen);
      at += count;
    }
    stream.finish(listen);
    ASSERT_EQ(segments.size(), whole.segments.size());
    for (size_t i = 0; i < segments.size(); ++i) {
      EXPECT_EQ(segments[i], whole.segments[i].text);
      EXPECT_EQ(begins[i], whole.segments[i].begin);
    }
    EXPECT_GE(partials, portion == 0 ? 0 : 2 * std::ssize(segments));
    EXPECT_EQ(speeches, std::ssize(segments));
  }
}

TEST_F(EmberAsr, EventsMakeTheWholeText) {
  const std::vector<float> sound = some_speech(1.1, 5);
  std::string shown;
  double done = 0;
  std::vector<std::string> segments;
  const Recognition heard = ember()->recognize(*read_samples(sound), {}, [&](const RecognizeEvent& event) {
    shown += event.text;
    EXPECT_GE(event.done, done);
    done = event.done;
    if (event.segment) segments.push_back(event.segment->text);
    return true;
  });
  EXPECT_EQ(shown, heard.text);
  EXPECT_EQ(segments.size(), heard.segments.size());
  EXPECT_GT(heard.took.encoder, 0);
  EXPECT_GT(heard.tokens, 30);
  // Stopping keeps what was finished.
  int64_t left = 3;
  const Recognition stopped = ember()->recognize(
      *read_samples(sound), {}, [&](const RecognizeEvent& event) { return !event.segment || --left > 0; });
  ASSERT_EQ(stopped.segments.size(), 3u);
  EXPECT_EQ(stopped.segments[2].text, heard.segments[2].text);
}

TEST_F(EmberAsr, SaysWhatItCannotDo) {
  const std::vector<float> sound(16000);
  const auto with = [&](auto change) {
    RecognizeOptions options;
    change(options);
    return recognize(*ember(), sound, options);
  };
  EXPECT_ERROR(with([](auto& options) { options.language = "de"; }), kInvalidArgument,
               "Ember-ASR does not know the language 'de'; it knows en");
  EXPECT_ERROR(with([](auto& options) { options.task = SpeechTask::kTranslate; }), kInvalidArgument,
               "Ember-ASR writes down what is said and does not translate; Whisper models do");
  EXPECT_ERROR(with([](auto& options) { options.context = std::string(5000, 'x'); }), kInvalidArgument,
               "a context of 5000 bytes leaves no room for sound in Ember-ASR");
  std::vector<float> broken(16000);
  broken[777] = NAN;
  EXPECT_ERROR(recognize(*ember(), broken), kBadFile, "nan");
}

TEST_F(EmberAsr, ATranscriberCanBeUnloaded) {
  Transcriber transcriber;
  EXPECT_EQ(transcriber.model_label(), "Ember-ASR");
  EXPECT_FALSE(transcriber.is_prepared());
  const std::vector<float> sound = samples()[0].samples();
  EXPECT_EQ(transcriber.transcribe(sound).text, samples()[0].heard);
  EXPECT_TRUE(transcriber.is_prepared());
  transcriber.unload();
  EXPECT_FALSE(transcriber.is_prepared());
  EXPECT_EQ(transcriber.transcribe(sound, {.language = "English"}).text, samples()[0].heard);
}

}  // namespace
}  // namespace wick
