// The voice detector as it is published: an ONNX file with two rates.
#include "speech/silero_file.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "base/json.h"
#include "formats/checkpoint.h"
#include "formats/onnx/onnx_model.h"
#include "graph/import.h"
#include "media/audio_reader.h"
#include "support/errors.h"
#include "support/fixtures.h"
#include "support/plain_silero.h"
#include "support/temp_folder.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

class SileroFile : public testing::Test {
 protected:
  void SetUp() override {
    if (fixture_folders("silero-vad").empty())
      GTEST_SKIP() << "WICK_EXTRA_FIXTURES names no folder with silero-vad in it";
    folder_ = fixture_folders("silero-vad").front();
  }
  fs::path onnx() const { return folder_ / "silero_vad.onnx"; }
  fs::path safetensors() const { return folder_ / "silero_vad_16k.safetensors"; }
  fs::path folder_;
};

std::vector<float> sound_at(const fs::path& path, int rate) {
  AudioOptions options;
  options.sample_rate = rate;
  return read_all(*open_audio(path, options), rate * 60);
}

constexpr const char* kNames[] = {
    "stft_conv.weight",    "conv1.weight",      "conv1.bias",        "conv2.weight",      "conv2.bias",
    "conv3.weight",        "conv3.bias",        "conv4.weight",      "conv4.bias",        "lstm_cell.weight_ih",
    "lstm_cell.weight_hh", "lstm_cell.bias_ih", "lstm_cell.bias_hh", "final_conv.weight", "final_conv.bias"};

// A branch of the model's graph by its attribute.
const OnnxGraph& branch(const OnnxModel& model, std::string_view name) {
  for (const OnnxNode& node : model.graph.nodes) {
    for (const OnnxAttribute& attribute : node.attributes) {
      if (attribute.name == name) return attribute.graphs.at(0);
    }
  }
  throw std::runtime_error("there is no such branch");
}

// The two files are of different releases. With the numbers of one put in their places in the other, both must be the
// same network, bit for bit, and score as onnxruntime does with them.
TEST_F(SileroFile, TheSameNumbersFromBothFiles) {
  const auto published = MappedFile::open(onnx());
  std::string bytes(reinterpret_cast<const char*>(published->bytes().data()), published->bytes().size());
  const OnnxModel model = OnnxModel::read(published);
  const Checkpoint other = Checkpoint::open(safetensors());
  for (const char* name : kNames) {
    const OnnxTensor* entry = find_tensor(branch(model, "then_branch"), silero_onnx_name(name));
    ASSERT_TRUE(entry) << name;
    const Tensor wanted = other.get(name);
    ASSERT_EQ(std::ssize(entry->raw), wanted.numel() * 4) << name;
    const auto place = static_cast<size_t>(entry->raw.data() - published->bytes().data());
    std::memcpy(bytes.data() + place, wanted.data<float>(), entry->raw.size());
  }
  const TempFolder folder;
  std::ofstream(folder.path() / "x.onnx", std::ios::binary) << bytes;
  const auto a = load_silero(folder.path() / "x.onnx"), b = load_silero(safetensors());
  EXPECT_EQ(a->sample_rate(), 16000);
  EXPECT_EQ(a->spectrum, b->spectrum);
  EXPECT_EQ(a->gates, b->gates);
  const auto speech = fixture_folders("silero").at(0);
  const auto sound = sound_at(speech / "speech.wav", 16000);
  const auto expected = Json::load(speech / "scores.json").to<std::vector<double>>();
  SileroScorer first(a), second(b);
  for (size_t i = 0; i < expected.size(); ++i) {
    const auto window = std::span(sound).subspan(i * 512, 512);
    const float score = first.score(window);
    EXPECT_EQ(score, second.score(window)) << i;
    EXPECT_NEAR(score, expected[i], 1e-4) << i;
  }
}

TEST_F(SileroFile, BothRatesComputeWhatTheGraphSays) {
  const OnnxModel model = OnnxModel::open(onnx());
  for (const int rate : {16000, 8000}) {
    SCOPED_TRACE(rate);
    std::map<std::string, Tensor, std::less<>> weights;
    for (const char* name : kNames) {
      const OnnxGraph& network = branch(model, rate == 16000 ? "then_branch" : "else_branch");
      weights[name] = graph::read_tensor(*find_tensor(network, silero_onnx_name(name)), model.file, nullptr).tensor();
    }
    PlainSilero plain(weights);
    SileroScorer scorer(load_silero(onnx(), rate));
    const auto sound = sound_at(fixture_folders("silero").at(0) / "speech.wav", rate);
    const auto window = static_cast<size_t>(scorer.window());
    float most = 0, least = 1;
    for (size_t at = 0; at + window <= std::min(sound.size(), 24 * window); at += window) {
      const float score = scorer.score(std::span(sound).subspan(at, window));
      EXPECT_NEAR(score, plain.score(sound, at), 1e-4) << at;
      most = std::max(most, score);
      least = std::min(least, score);
    }
    EXPECT_GT(most, 0.9);
    EXPECT_LT(least, 0.3);
  }
}

// Both networks were trained on the same speech: they find it at the same places.
TEST_F(SileroFile, EightKilohertzFindsTheSpeechThatSixteenFinds) {
  const auto wide = load_silero(onnx(), 16000), narrow = load_silero(onnx(), 8000);
  EXPECT_EQ(narrow->sample_rate(), 8000);
  std::vector<fs::path> recordings = {fixture_folders("silero").at(0) / "speech.wav"};
  for (const fs::path& audio : fixture_folders("audio")) {
    if (fs::exists(audio / "jfk.wav")) recordings.push_back(audio / "jfk.wav");
  }
  for (const fs::path& recording : recordings) {
    SCOPED_TRACE(recording);
    const auto at16 = sound_at(recording, 16000), at8 = sound_at(recording, 8000);
    const auto expected = find_speech(at16, std::make_unique<SileroScorer>(wide), {});
    const auto found = find_speech(at8, std::make_unique<SileroScorer>(narrow), {});
    ASSERT_FALSE(expected.empty());
    // Speech, frame by frame of 32 ms.
    const size_t frames = at16.size() / 512;
    const auto marked = [&](const std::vector<SpeechSegment>& segments, int64_t frame) {
      std::vector<bool> out(frames);
      for (const SpeechSegment& segment : segments) {
        for (int64_t i = segment.begin / frame; i < std::min<int64_t>(segment.end / frame, std::ssize(out)); ++i) {
          out[static_cast<size_t>(i)] = true;
        }
      }
      return out;
    };
    const auto a = marked(expected, 512), b = marked(found, 256);
    size_t differ = 0;
    for (size_t i = 0; i < frames; ++i) differ += a[i] != b[i];
    EXPECT_LT(differ * 10, frames) << differ << " of " << frames;
    EXPECT_NEAR(static_cast<double>(found.front().begin) / 8000, static_cast<double>(expected.front().begin) / 16000,
                0.15);
    EXPECT_NEAR(static_cast<double>(found.back().end) / 8000, static_cast<double>(expected.back().end) / 16000, 0.3);
  }
  EXPECT_TRUE(find_speech(std::vector<float>(24000), std::make_unique<SileroScorer>(narrow), {}).empty());
}

TEST_F(SileroFile, SaysWhatIsWrong) {
  EXPECT_ERROR(load_silero(onnx(), 44100), kInvalidArgument, "hears 8000 or 16000 samples per second, not 44100");
  EXPECT_ERROR(load_silero(safetensors(), 8000), kInvalidArgument, "hears 16000 samples per second, not 8000");
  const TempFolder folder;
  fs::copy_file(safetensors(), folder.path() / "x.onnx");
  EXPECT_ERROR(load_silero(folder.path() / "x.onnx"), kBadFile, "x.onnx: byte ");
}

}  // namespace
}  // namespace wick
