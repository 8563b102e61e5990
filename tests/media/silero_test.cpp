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
#include "support/targets.h"
#include "tensor/create.h"

namespace wick {
namespace {

using Values = std::vector<double>;
using Tensors = std::map<std::string, Tensor, std::less<>>;

// The right shapes with random numbers.
Tensors random_weights() {
  Tensors tensors;
  uint64_t seed = 1;
  const auto add = [&](const std::string& name, const Shape& shape, double scale) {
    auto values = randn(shape, seed++).to_vector<float>();
    for (float& value : values) value *= static_cast<float>(scale);
    tensors[name] = from_vector(values, shape);
  };
  add("stft_conv.weight", {258, 1, 256}, 0.2);
  const int64_t sizes[] = {129, 128, 64, 64, 128};
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

// The network written down from its definition, in f64.
class PlainNetwork {
 public:
  explicit PlainNetwork(const Tensors& tensors) {
    for (const auto& [name, tensor] : tensors) w_[name] = tensor.to_vector<double>();
  }

  double score(const std::vector<float>& sound, size_t at) {
    const auto sample = [&](int64_t i) {  // -64 to 575 + 64, mirrored behind 511
      if (i > 511) i = 2 * 511 - i;
      const int64_t place = static_cast<int64_t>(at) + i;
      return place < 0 ? 0.0 : double{sound[static_cast<size_t>(place)]};
    };
    std::vector<Values> x(129, Values(4));
    for (size_t k = 0; k < 129; ++k) {
      for (size_t frame = 0; frame < 4; ++frame) {
        double re = 0, im = 0;
        for (size_t i = 0; i < 256; ++i) {
          const double value = sample(static_cast<int64_t>(frame * 128 + i) - 64);
          re += w_["stft_conv.weight"][k * 256 + i] * value;
          im += w_["stft_conv.weight"][(k + 129) * 256 + i] * value;
        }
        x[k][frame] = std::hypot(re, im);
      }
    }
    x = conv("conv1", x, 1);
    x = conv("conv2", x, 2);
    x = conv("conv3", x, 2);
    x = conv("conv4", x, 1);
    const auto gate = [&](size_t row) {
      double sum = w_["lstm_cell.bias_ih"][row] + w_["lstm_cell.bias_hh"][row];
      for (size_t i = 0; i < 128; ++i) {
        sum +=
            w_["lstm_cell.weight_ih"][row * 128 + i] * x[i][0] + w_["lstm_cell.weight_hh"][row * 128 + i] * hidden_[i];
      }
      return sum;
    };
    Values next(128);
    double logit = w_["final_conv.bias"][0];
    for (size_t i = 0; i < 128; ++i) {
      cell_[i] = sigmoid(gate(128 + i)) * cell_[i] + sigmoid(gate(i)) * std::tanh(gate(256 + i));
      next[i] = sigmoid(gate(384 + i)) * std::tanh(cell_[i]);
      logit += w_["final_conv.weight"][i] * std::max(0.0, next[i]);
    }
    hidden_ = next;
    return sigmoid(logit);
  }

 private:
  static double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

  std::vector<Values> conv(const std::string& name, const std::vector<Values>& x, size_t stride) {
    const Values &weight = w_[name + ".weight"], &bias = w_[name + ".bias"];
    std::vector<Values> out(bias.size(), Values((x[0].size() - 1) / stride + 1));
    for (size_t o = 0; o < out.size(); ++o) {
      for (size_t t = 0; t < out[o].size(); ++t) {
        double sum = bias[o];
        for (size_t c = 0; c < x.size(); ++c) {
          for (size_t k = 0; k < 3; ++k) {
            const size_t at = t * stride + k;
            if (at >= 1 && at <= x[c].size()) sum += weight[(o * x.size() + c) * 3 + k] * x[c][at - 1];
          }
        }
        out[o][t] = std::max(0.0, sum);
      }
    }
    return out;
  }

  std::map<std::string, Values> w_;
  Values hidden_ = Values(128), cell_ = Values(128);
};

TEST(Silero, IsTheNetworkOfItsDefinition) {
  const Tensors tensors = random_weights();
  const auto weights = load(tensors);
  const auto sound = randn({512 * 4}, 77).to_vector<float>();
  std::vector<double> expected;
  PlainNetwork plain(tensors);
  for (size_t at = 0; at < sound.size(); at += 512) expected.push_back(plain.score(sound, at));
  EXPECT_GT(std::abs(expected[0] - expected[3]), 1e-3);  // the state counts
  on_every_target([&](const std::string&) {
    SileroScorer scorer(weights);
    for (int round = 0; round < 2; ++round) {
      for (size_t i = 0; i < expected.size(); ++i) {
        EXPECT_NEAR(scorer.score(std::span(sound).subspan(i * 512, 512)), expected[i], 2e-5) << i;
      }
      scorer.reset();
    }
  });
}

TEST(Silero, RefusesOtherWeightsAndWindows) {
  Tensors tensors = random_weights();
  SileroScorer scorer(load(tensors));
  EXPECT_ERROR(scorer.score(std::vector<float>(256)), kInvalidArgument, "256 samples, expected 512");
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
