#include "media/silero_scorer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

#include "base/json.h"
#include "formats/checkpoint.h"
#include "media/audio_files.h"
#include "support/errors.h"
#include "support/fixtures.h"
#include "support/plain_silero.h"
#include "support/targets.h"
#include "tensor/create.h"

namespace wick {
namespace {

using Tensors = std::map<std::string, Tensor, std::less<>>;

// The right shapes with random numbers. `transform`: 256 at 16 kHz, 128 at 8 kHz.
Tensors random_weights(int64_t transform = 256) {
  Tensors tensors;
  uint64_t seed = 1;
  const auto add = [&](const std::string& name, const Shape& shape, double scale) {
    auto values = randn(shape, seed++).to_vector<float>();
    for (float& value : values) value *= static_cast<float>(scale);
    tensors[name] = from_vector(values, shape);
  };
  add("stft_conv.weight", {transform + 2, 1, transform}, 0.2);
  const int64_t sizes[] = {transform / 2 + 1, 128, 64, 64, 128};
  for (size_t i = 0; i < 4; ++i) {
    add("conv" + std::to_string(i + 1) + ".weight", {sizes[i + 1], sizes[i], 3}, 0.06);
    add("conv" + std::to_string(i + 1) + ".bias", {sizes[i + 1]}, 0.1);
  }
  for (const char* part : {"ih", "hh"}) {
    add(std::string("lstm_cell.weight_") + part, {512, 128}, 0.1);
    add(std::string("lstm_cell.bias_") + part, {512}, 0.1);
  }
  add("final_conv.weight", {1, 128, 1}, 0.3);
  add("final_conv.bias", {1}, 0.1);
  return tensors;
}

std::shared_ptr<const SileroWeights> load(const Tensors& tensors) {
  return SileroWeights::load([&](std::string_view name) { return tensors.find(name)->second; });
}

class SileroRates : public testing::TestWithParam<int64_t> {};

TEST_P(SileroRates, IsTheNetworkOfItsDefinition) {
  const Tensors tensors = random_weights(GetParam());
  const auto weights = load(tensors);
  EXPECT_EQ(SileroScorer(weights).sample_rate(), GetParam() == 256 ? 16000 : 8000);
  const auto window = static_cast<size_t>(SileroScorer(weights).window());
  EXPECT_EQ(window * 1000 / static_cast<size_t>(weights->sample_rate()), 32U);
  const auto sound = randn({static_cast<int64_t>(window) * 4}, 77).to_vector<float>();
  std::vector<double> expected;
  PlainSilero plain(tensors);
  for (size_t at = 0; at < sound.size(); at += window) expected.push_back(plain.score(sound, at));
  EXPECT_GT(std::abs(expected[0] - expected[3]), 1e-3);  // the state counts
  on_every_target([&](const std::string&) {
    SileroScorer scorer(weights);
    for (int round = 0; round < 2; ++round) {
      for (size_t i = 0; i < expected.size(); ++i) {
        EXPECT_NEAR(scorer.score(std::span(sound).subspan(i * window, window)), expected[i], 2e-5) << i;
      }
      scorer.reset();
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Rates, SileroRates, testing::Values(256, 128),
                         [](const auto& test) { return test.param == 256 ? "16kHz" : "8kHz"; });

TEST(Silero, RefusesOtherWeightsAndWindows) {
  Tensors tensors = random_weights();
  SileroScorer scorer(load(tensors));
  EXPECT_ERROR(scorer.score(std::vector<float>(256)), kInvalidArgument, "256 samples, expected 512");
  EXPECT_ERROR(SileroScorer(load(random_weights(128))).score(std::vector<float>(512)), kInvalidArgument,
               "512 samples, expected 256");
  tensors["stft_conv.weight"] = zeros({514, 1, 512});
  EXPECT_ERROR(load(tensors), kBadFile, "'stft_conv.weight' is [514, 1, 512], expected [258, 1, 256] (16 kHz) or");
  tensors = random_weights();
  tensors["conv2.weight"] = zeros({64, 128, 5});
  EXPECT_ERROR(load(tensors), kBadFile, "'conv2.weight' is [64, 128, 5], expected [64, 128, 3]");
}

// The published weights against another implementation's scores.
TEST(Silero, ScoresSpeechAsOnnxRuntimeDoes) {
  const auto folders = fixture_folders("silero-vad");
  if (folders.empty()) GTEST_SKIP() << "WICK_EXTRA_FIXTURES names no folder with silero-vad in it";
  const Checkpoint checkpoint = Checkpoint::open(folders[0] / "silero_vad_16k.safetensors");
  SileroScorer scorer(SileroWeights::load([&](std::string_view name) { return checkpoint.get(name); }));
  const auto folder = fixture_folders("silero").at(0);
  const auto sound = read_all(*open_audio(folder / "speech.wav"), 1 << 20);
  std::ostringstream text;
  text << std::ifstream(folder / "scores.json").rdbuf();
  const auto expected = Json::parse(text.str(), "scores.json").to<std::vector<double>>();
  ASSERT_EQ(expected.size(), sound.size() / 512);
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(scorer.score(std::span(sound).subspan(i * 512, 512)), expected[i], 1e-4) << i;
  }
  // Speech is found, and neither noise nor silence is.
  scorer.reset();
  const auto weights = SileroWeights::load([&](std::string_view name) { return checkpoint.get(name); });
  const auto found = find_speech(sound, std::make_unique<SileroScorer>(weights), {});
  ASSERT_FALSE(found.empty());
  EXPECT_NEAR(static_cast<double>(found[0].begin), 2 * 512, 1000);
  auto hiss = randn({48000}, 4).to_vector<float>();
  for (float& sample : hiss) sample *= 0.02f;
  EXPECT_TRUE(find_speech(hiss, std::make_unique<SileroScorer>(weights), {}).empty());
  EXPECT_TRUE(find_speech(std::vector<float>(48000), std::make_unique<SileroScorer>(weights), {}).empty());
}

}  // namespace
}  // namespace wick
