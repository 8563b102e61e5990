#include "media/silero_scorer.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "media/dot.h"

namespace wick {
namespace {

constexpr int64_t kFrames = 4, kState = 128;

Error wrong_shape(std::string_view name, const Tensor& tensor, const std::string& expected) {
  return {ErrorCode::kBadFile, cat("voice detector: '", name, "' is ", tensor.shape(), ", expected ", expected)};
}

std::vector<float> take(FunctionRef<Tensor(std::string_view)> get, std::string_view name, const Shape& shape) {
  const Tensor tensor = get(name);
  if (tensor.shape() != shape) throw wrong_shape(name, tensor, cat(shape));
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
  const Tensor spectrum = get("stft_conv.weight");
  if (spectrum.shape() != Shape({258, 1, 256}) && spectrum.shape() != Shape({130, 1, 128})) {
    throw wrong_shape("stft_conv.weight", spectrum, "[258, 1, 256] (16 kHz) or [130, 1, 128] (8 kHz)");
  }
  weights->transform = spectrum.dim(2);
  weights->spectrum = spectrum.to_vector<float>();
  const int64_t sizes[] = {weights->bins(), 128, 64, 64, kState};
  constexpr int64_t kStrides[] = {1, 2, 2, 1};
  for (size_t i = 0; i < 4; ++i) {
    const int64_t in = sizes[i], out = sizes[i + 1];
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

std::string silero_onnx_name(std::string_view name) {
  if (name == "stft_conv.weight") return "stft.forward_basis_buffer";
  if (name.starts_with("lstm_cell.")) return cat("decoder.rnn.", name.substr(name.find('.') + 1));
  if (name.starts_with("final_conv.")) return cat("decoder.decoder.2.", name.substr(name.find('.') + 1));
  // conv1.weight is that of encoder.0
  const char number = name.size() > 4 ? name[4] : '1';
  return cat("encoder.", static_cast<char>(number - 1), ".reparam_conv.", name.substr(name.find('.') + 1));
}

SileroScorer::SileroScorer(std::shared_ptr<const SileroWeights> weights) : weights_(std::move(weights)) { reset(); }

void SileroScorer::reset() {
  context_.assign(static_cast<size_t>(weights_->context()), 0);
  hidden_.assign(kState, 0);
  cell_.assign(kState, 0);
}

float SileroScorer::score(std::span<const float> samples) {
  if (std::ssize(samples) != window()) {
    throw Error(ErrorCode::kInvalidArgument, cat("voice detector: ", samples.size(), " samples, expected ", window()));
  }
  // context | window | its end without the last sample, mirrored
  std::vector<float> sound = context_;
  sound.insert(sound.end(), samples.begin(), samples.end());
  for (size_t i = 0; i < context_.size(); ++i) sound.push_back(samples[samples.size() - 2 - i]);
  context_.assign(samples.end() - weights_->context(), samples.end());

  const auto bins = static_cast<size_t>(weights_->bins());
  std::vector<float> x(bins * kFrames), waves(2 * bins);  // x is [channels, time]
  for (int64_t frame = 0; frame < kFrames; ++frame) {
    matrix_times_vector(weights_->spectrum.data(), sound.data() + frame * weights_->hop(), std::ssize(waves),
                        weights_->transform, waves.data());
    for (size_t k = 0; k < bins; ++k) {
      x[k * kFrames + static_cast<size_t>(frame)] = std::sqrt(waves[k] * waves[k] + waves[k + bins] * waves[k + bins]);
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
