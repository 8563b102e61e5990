#include "media/silero_scorer.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "media/dot.h"

namespace wick {
namespace {

constexpr int64_t kContext = 64, kTransform = 256, kHop = 128, kFrames = 4, kSpectrum = 129, kState = 128;

std::vector<float> take(FunctionRef<Tensor(std::string_view)> get, std::string_view name, const Shape& shape) {
  const Tensor tensor = get(name);
  if (tensor.shape() != shape) {
    throw Error(ErrorCode::kBadFile, cat("voice detector: '", name, "' is ", tensor.shape(), ", expected ", shape));
  }
  return tensor.to_vector<float>();
}

// [in, time] -> [out, (time - 1) / stride + 1], then ReLU.
std::vector<float> convolve(const SileroConv& conv, const std::vector<float>& x, int64_t time) {
  const int64_t results = (time - 1) / conv.stride + 1;
  std::vector<float> out(static_cast<size_t>(conv.out * results)), column(static_cast<size_t>(conv.in * 3)),
      made(static_cast<size_t>(conv.out));
  for (int64_t t = 0; t < results; ++t) {
    for (int64_t channel = 0; channel < conv.in; ++channel) {
      for (int64_t k = 0; k < 3; ++k) {
        const int64_t at = t * conv.stride + k - 1;
        const bool inside = at >= 0 && at < time;
        column[static_cast<size_t>(channel * 3 + k)] = inside ? x[static_cast<size_t>(channel * time + at)] : 0;
      }
    }
    matrix_times_vector(conv.weight.data(), column.data(), conv.out, conv.in * 3, made.data());
    for (int64_t channel = 0; channel < conv.out; ++channel) {
      const auto c = static_cast<size_t>(channel);
      out[static_cast<size_t>(channel * results + t)] = std::max(0.0f, made[c] + conv.bias[c]);
    }
  }
  return out;
}

float sigmoid(float x) { return 1 / (1 + std::exp(-x)); }

}  // namespace

std::shared_ptr<const SileroWeights> SileroWeights::load(FunctionRef<Tensor(std::string_view name)> get) {
  auto weights = std::make_shared<SileroWeights>();
  weights->spectrum = take(get, "stft_conv.weight", {2 * kSpectrum, 1, kTransform});
  constexpr int64_t kSizes[] = {kSpectrum, 128, 64, 64, kState}, kStrides[] = {1, 2, 2, 1};
  for (size_t i = 0; i < 4; ++i) {
    const int64_t in = kSizes[i], out = kSizes[i + 1];
    const std::string name = cat("conv", i + 1);
    weights->convs[i] = {in, out, kStrides[i], take(get, name + ".weight", {out, in, 3}),
                         take(get, name + ".bias", {out})};
  }
  const auto from_input = take(get, "lstm_cell.weight_ih", {4 * kState, kState});
  const auto from_hidden = take(get, "lstm_cell.weight_hh", {4 * kState, kState});
  for (int64_t row = 0; row < 4 * kState; ++row) {
    for (const auto* part : {&from_input, &from_hidden}) {
      weights->gates.insert(weights->gates.end(), part->begin() + row * kState, part->begin() + (row + 1) * kState);
    }
  }
  weights->gates_bias = take(get, "lstm_cell.bias_ih", {4 * kState});
  const auto second = take(get, "lstm_cell.bias_hh", {4 * kState});
  for (size_t i = 0; i < second.size(); ++i) weights->gates_bias[i] += second[i];
  weights->output = take(get, "final_conv.weight", {1, kState, 1});
  weights->output_bias = take(get, "final_conv.bias", {1})[0];
  return weights;
}

SileroScorer::SileroScorer(std::shared_ptr<const SileroWeights> weights) : weights_(std::move(weights)) { reset(); }

void SileroScorer::reset() {
  context_.assign(kContext, 0);
  hidden_.assign(kState, 0);
  cell_.assign(kState, 0);
}

float SileroScorer::score(std::span<const float> samples) {
  if (std::ssize(samples) != window()) {
    throw Error(ErrorCode::kInvalidArgument, cat("voice detector: ", samples.size(), " samples, expected ", window()));
  }
  // context | window | its last 64 samples but one, mirrored
  std::vector<float> sound = context_;
  sound.insert(sound.end(), samples.begin(), samples.end());
  for (size_t i = 0; i < kContext; ++i) sound.push_back(samples[samples.size() - 2 - i]);
  context_.assign(samples.end() - kContext, samples.end());

  std::vector<float> x(kSpectrum * kFrames), waves(2 * kSpectrum);  // x is [channels, time]
  for (int64_t frame = 0; frame < kFrames; ++frame) {
    matrix_times_vector(weights_->spectrum.data(), sound.data() + frame * kHop, 2 * kSpectrum, kTransform,
                        waves.data());
    for (size_t k = 0; k < kSpectrum; ++k) {
      x[k * kFrames + static_cast<size_t>(frame)] =
          std::sqrt(waves[k] * waves[k] + waves[k + kSpectrum] * waves[k + kSpectrum]);
    }
  }
  int64_t time = kFrames;
  for (const SileroConv& conv : weights_->convs) {
    x = convolve(conv, x, time);
    time = (time - 1) / conv.stride + 1;
  }
  x.insert(x.end(), hidden_.begin(), hidden_.end());  // one frame is left
  std::vector<float> gates(4 * kState);
  matrix_times_vector(weights_->gates.data(), x.data(), 4 * kState, 2 * kState, gates.data());
  float logit = weights_->output_bias;
  for (size_t i = 0; i < kState; ++i) {
    const auto gate = [&](size_t which) {
      return gates[which * kState + i] + weights_->gates_bias[which * kState + i];
    };
    cell_[i] = sigmoid(gate(1)) * cell_[i] + sigmoid(gate(0)) * std::tanh(gate(2));
    hidden_[i] = sigmoid(gate(3)) * std::tanh(cell_[i]);
    logit += weights_->output[i] * std::max(0.0f, hidden_[i]);
  }
  return sigmoid(logit);
}

}  // namespace wick
