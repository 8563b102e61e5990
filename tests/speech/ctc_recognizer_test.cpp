// Recordings of any length through a small wav2vec2, against windows that are put together by hand.
#include "speech/ctc/ctc_recognizer.h"

#include <gtest/gtest.h>

#include <fstream>

#include "ops/softmax.h"
#include "speech/ctc/ctc_decode.h"
#include "support/errors.h"
#include "support/model_fixtures.h"
#include "support/temp_folder.h"
#include "tensor/create.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kStep = 320, kWindowFrames = 800, kContext = 100;
constexpr int32_t kDelimiter = 4;

std::string piece_of(int32_t id) {
  const char* special[] = {"<pad>", "<s>", "</s>", "<unk>", "|"};
  return id < 5 ? special[id] : std::string(1, static_cast<char>('A' + id - 5));
}

std::unique_ptr<AudioReader> reader_of(const std::vector<float>& samples) {
  AudioOptions options;
  options.raw = RawAudio{SampleFormat::kF32, 16000, 1};
  const auto owner = std::make_shared<std::vector<float>>(samples);
  return open_audio_in_memory("sound", std::as_bytes(std::span(*owner)), owner, options);
}

class CtcRecognizerTest : public testing::Test {
 protected:
  // The fixture with the strides of the released models, so that a second has 50 frames.
  void SetUp() override {
    copy_model(family_folder("wav2vec2"), path(), "\"conv_stride\": [\n  5,\n  4,\n  2",
               "\"conv_stride\": [\n  10,\n  8,\n  4");
    fs::remove(path() / "reference.safetensors");
    write_vocabulary(32);
  }
  void write_vocabulary(int32_t last) {
    std::ofstream out(path() / "vocab.json");
    for (int32_t id = 0; id < last; ++id) out << (id ? ", \"" : "{\"") << piece_of(id) << "\": " << id;
    out << "}";
  }
  fs::path path() const { return folder_.path() / "tiny"; }
  // Bursts of noise whose level changes.
  static std::vector<float> sound(int64_t samples) {
    std::vector<float> out = randn({samples}, 9).to_vector<float>();
    for (size_t i = 0; i < out.size(); ++i) {
      out[i] *= 0.1f * static_cast<float>(1 + std::sin(static_cast<double>(i) / 900.0) +
                                          std::sin(static_cast<double>(i) / 7000.0));
    }
    return out;
  }
  // Log-probabilities of all frames: windows of 16 s, 2 s on both sides heard only.
  std::vector<float> by_hand(const std::vector<float>& samples) const {
    const auto model = Wav2Vec2::load(path());
    const int64_t all = model->config().frames_of(std::ssize(samples));
    std::vector<float> out;
    for (int64_t first = 0;; first += kWindowFrames - 2 * kContext) {
      const int64_t begin = first * kStep, most = model->config().samples_of(kWindowFrames);
      const int64_t count = std::min<int64_t>(most, std::ssize(samples) - begin);
      std::vector<float> window(samples.begin() + begin, samples.begin() + begin + count);
      double mean = 0, var = 0;
      for (const float x : window) mean += x / static_cast<double>(count);
      for (const float x : window) var += (x - mean) * (x - mean) / static_cast<double>(count);
      for (float& x : window) x = static_cast<float>((x - mean) / std::sqrt(var + 1e-7));
      const std::vector<float> rows = log_softmax(model->logits(window), 1).to_vector<float>();
      const bool is_last = count < most;
      const int64_t from = first == 0 ? 0 : kContext;
      const int64_t to = is_last ? std::ssize(rows) / 32 : kWindowFrames - kContext;
      EXPECT_EQ(first + from, std::ssize(out) / 32);
      out.insert(out.end(), rows.begin() + from * 32, rows.begin() + to * 32);
      if (is_last) break;
    }
    EXPECT_EQ(std::ssize(out) / 32, all);
    return out;
  }

  TempFolder folder_;
};

RecognizeOptions words() {
  RecognizeOptions options;
  options.times = TimeDetail::kWords;
  options.skips_silence = false;
  return options;
}

TEST_F(CtcRecognizerTest, WritesWhatTheFramesSay) {
  const auto recognizer = CtcRecognizer::load(path());
  EXPECT_EQ(recognizer->facts().label, "tiny");
  EXPECT_EQ(recognizer->facts().family, "wav2vec2");
  EXPECT_TRUE(recognizer->facts().tells_words);
  EXPECT_GT(recognizer->facts().parameters, 70'000);
  for (const int64_t samples :
       {int64_t{6400}, int64_t{16000 * 16 - 1}, int64_t{16000 * 16 + 400}, int64_t{16000 * 43 + 7}}) {
    SCOPED_TRACE(samples);
    const std::vector<float> recording = sound(samples);
    const std::vector<float> logprobs = by_hand(recording);
    std::string expected;
    for (const CtcToken& token : ctc_greedy({logprobs, 32, 0}).tokens) {
      if (token.id > kDelimiter) expected += piece_of(token.id);
    }
    ASSERT_FALSE(expected.empty());
    const Recognition heard = recognizer->recognize(*reader_of(recording), words());
    std::string letters;
    for (const char c : heard.text) letters += c == ' ' ? "" : std::string(1, c);
    EXPECT_EQ(letters, expected);
    EXPECT_NEAR(heard.seconds, static_cast<double>(samples) / 16000, 1e-9);
    // Words lie in order, inside the sound, and every one begins where its first letter is the likeliest.
    double last = 0;
    std::string joined;
    for (const RecognizedSegment& segment : heard.segments) {
      std::string text;
      for (const RecognizedWord& word : segment.words) {
        text += cat(text.empty() ? "" : " ", word.text);
        EXPECT_GE(word.begin, last);
        EXPECT_GT(word.end, word.begin);
        last = word.end;
        const auto frame = static_cast<int64_t>(std::llround(word.begin * 50));
        const auto row = std::span(logprobs).subspan(static_cast<size_t>(frame * 32), 32);
        EXPECT_EQ(piece_of(static_cast<int32_t>(std::max_element(row.begin(), row.end()) - row.begin())),
                  word.text.substr(0, 1));
        EXPECT_GT(*word.probability, 0);
        EXPECT_LE(*word.probability, 1);
      }
      EXPECT_EQ(segment.text, text);
      EXPECT_EQ(segment.begin, segment.words.front().begin);
      EXPECT_LE(segment.end - segment.begin, 30.1);
      joined += cat(joined.empty() ? "" : " ", text);
    }
    EXPECT_EQ(heard.text, joined);
    EXPECT_LE(last, heard.seconds + 0.02);
  }
}

TEST_F(CtcRecognizerTest, EventsMakeTheWholeText) {
  const auto recognizer = CtcRecognizer::load(path());
  const std::vector<float> recording = sound(16000 * 70);
  RecognizeOptions options;
  options.skips_silence = false;
  const Recognition whole = recognizer->recognize(*reader_of(recording), options);
  ASSERT_GT(whole.segments.size(), 1U);
  EXPECT_TRUE(whole.segments[0].words.empty());
  std::string text;
  double done = 0;
  const Recognition again = recognizer->recognize(*reader_of(recording), options, [&](const RecognizeEvent& event) {
    text += event.text;
    EXPECT_GE(event.done, done);
    EXPECT_TRUE(event.segment);
    done = event.done;
    return true;
  });
  EXPECT_EQ(text, whole.text);
  EXPECT_EQ(again.text, whole.text);
  const Recognition stopped =
      recognizer->recognize(*reader_of(recording), options, [](const RecognizeEvent&) { return false; });
  EXPECT_EQ(stopped.segments.size(), 1U);
  EXPECT_EQ(stopped.text, whole.segments[0].text);
}

TEST_F(CtcRecognizerTest, BeamsFindTheText) {
  const auto recognizer = CtcRecognizer::load(path());
  RecognizeOptions options = words();
  options.beams = 8;
  const std::vector<float> recording = sound(32000);
  const Recognition heard = recognizer->recognize(*reader_of(recording), options);
  EXPECT_FALSE(heard.text.empty());
  EXPECT_EQ(heard.text, recognizer->recognize(*reader_of(recording), options).text);
  EXPECT_FALSE(heard.segments[0].words.empty());
}

TEST_F(CtcRecognizerTest, SilenceAndTinySounds) {
  const auto recognizer = CtcRecognizer::load(path());
  const Recognition nothing = recognizer->recognize(*reader_of({}));
  EXPECT_EQ(nothing.text, "");
  EXPECT_EQ(nothing.seconds, 0);
  const Recognition silence = recognizer->recognize(*reader_of(std::vector<float>(16000 * 40)));
  EXPECT_EQ(silence.text, "");
  EXPECT_EQ(silence.seconds, 40);
  EXPECT_EQ(silence.took.encoder, 0) << "nothing was given to the model";
  RecognizeOptions options;
  options.skips_silence = false;
  EXPECT_NEAR(recognizer->recognize(*reader_of({0.5f}), options).seconds, 1.0 / 16000, 1e-9);
}

TEST_F(CtcRecognizerTest, OptionsItDoesNotHave) {
  const auto recognizer = CtcRecognizer::load(path());
  const auto with = [&](auto change) {
    RecognizeOptions options;
    change(options);
    recognizer->recognize(*reader_of({}), options);
  };
  EXPECT_ERROR(with([](auto& o) { o.language = "en"; }), kInvalidArgument,
               "wav2vec2 writes the language it was trained on");
  EXPECT_ERROR(with([](auto& o) { o.context = "names"; }), kInvalidArgument, "takes no context");
  EXPECT_ERROR(with([](auto& o) { o.task = SpeechTask::kTranslate; }), kInvalidArgument, "does not translate");
  EXPECT_ERROR(with([](auto& o) { o.temperature = 0.5f; }), kInvalidArgument, "no temperature");
  EXPECT_ERROR(with([](auto& o) { o.beams = 0; }), kInvalidArgument, "0 beams");
}

TEST_F(CtcRecognizerTest, Vocabularies) {
  const auto write = [&](const char* name, const std::string& text) { std::ofstream(path() / name) << text; };
  fs::remove(path() / "vocab.json");
  EXPECT_ERROR(CtcRecognizer::load(path()), kIo, "vocab.json");
  write("vocab.json", R"({"a": 32})");
  EXPECT_ERROR(CtcRecognizer::load(path()), kBadFile, "'a' has the id 32 of 32 tokens");
  write("vocab.json", R"({"a": -1})");
  EXPECT_ERROR(CtcRecognizer::load(path()), kBadFile, "'a' has the id -1");
  write("vocab.json", R"(["a"])");
  EXPECT_ERROR(CtcRecognizer::load(path()), kBadFile, "vocab.json");

  write("vocab.json", R"({"eng": {"A": 5, "#": 6, "[PAD]": 0, "[UNK]": 7}, "deu": {"Ä": 5, "#": 6, "[PAD]": 0}})");
  write("tokenizer_config.json", R"({"target_lang": "deu", "word_delimiter_token": "#", "do_lower_case": true,
      "pad_token": "[PAD]", "unk_token": {"content": "[UNK]"}})");
  write("preprocessor_config.json", R"({"do_normalize": false})");
  const CtcVocabulary german = CtcVocabulary::load(path(), 32, 0);
  EXPECT_EQ(german.pieces[5], "ä");
  EXPECT_EQ(german.pieces[0], "");
  EXPECT_EQ(german.delimiter, 6);
  EXPECT_FALSE(german.normalizes);
  write("tokenizer_config.json", R"({"word_delimiter_token": "#", "unk_token": "[UNK]"})");
  const CtcVocabulary english = CtcVocabulary::load(path(), 32, 0);
  EXPECT_EQ(english.pieces[5], "A");
  EXPECT_EQ(english.pieces[7], "");
}

}  // namespace
}  // namespace wick
