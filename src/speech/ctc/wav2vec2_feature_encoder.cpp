#include "speech/ctc/wav2vec2_feature_encoder.h"

#include <cmath>

#include "nn/scratch.h"
#include "ops/binary.h"
#include "ops/layers/conv.h"
#include "ops/layers/norm.h"
#include "ops/view.h"
#include "tensor/create.h"

namespace wick {
namespace {

constexpr float kConvNormEpsilon = 1e-5f;  // of PyTorch's norms; no config says otherwise

// PyTorch's weight norm over the last dimension: every tap of v [out, in, taps] as a whole is given the length g[tap].
Tensor weight_of(const Tensor& lengths, const Tensor& directions, const Device& device) {
  if (!directions.defined()) return {};  // while names are listed
  Tensor weight = directions.to_device(Device::cpu()).clone();
  const std::vector<float> wanted = lengths.to_device(Device::cpu()).to_vector<float>();
  const auto taps = static_cast<int64_t>(wanted.size());
  auto* values = weight.mutable_data<float>();
  for (int64_t tap = 0; tap < taps; ++tap) {
    double sum = 0;
    for (int64_t i = tap; i < weight.numel(); i += taps) sum += static_cast<double>(values[i]) * values[i];
    const double scale = sum > 0 ? static_cast<double>(wanted[static_cast<size_t>(tap)]) / std::sqrt(sum) : 0;
    for (int64_t i = tap; i < weight.numel(); i += taps) values[i] = static_cast<float>(values[i] * scale);
  }
  return weight.to_device(device);
}

}  // namespace

Wav2Vec2FeatureEncoder::Wav2Vec2FeatureEncoder(const Wav2Vec2Config& config, WeightLoader& loader, const Device& device)
    : device_(device), activation_(config.conv_activation), layer_norm_(config.conv_layer_norm) {
  int64_t before = 1;
  for (size_t i = 0; i < config.convs.size(); ++i) {
    const auto& [channels, kernel, stride] = config.convs[i];
    const std::string name = cat(config.prefix, "feature_extractor.conv_layers.", i, ".");
    Conv conv{};
    conv.weight = loader.vector(name + "conv.weight", {channels, before, kernel});
    if (config.conv_bias) conv.bias = loader.vector(name + "conv.bias", {channels});
    if (layer_norm_ || i == 0) {
      conv.norm_weight = loader.vector(name + "layer_norm.weight", {channels});
      conv.norm_bias = loader.vector(name + "layer_norm.bias", {channels});
    }
    conv.stride = stride;
    convs_.push_back(conv);
    before = channels;
  }
  const std::string projection = config.prefix + "feature_projection.";
  norm_ = loader.norm(projection + "layer_norm", NormKind::kLayer, before, config.eps, true, true, 0);
  projection_ = loader.linear(projection + "projection", config.width, before, true);
  if (config.positions != Wav2Vec2Config::Positions::kConvolution) return;
  const std::string places = config.prefix + "encoder.pos_conv_embed.conv.";
  const char* length = config.old_norm_names ? "weight_g" : "parametrizations.weight.original0";
  const char* direction = config.old_norm_names ? "weight_v" : "parametrizations.weight.original1";
  places_groups_ = config.position_groups;
  const Tensor lengths = loader.vector(places + length, {1, 1, config.position_kernel});
  const Tensor directions =
      loader.vector(places + direction, {config.width, config.width / places_groups_, config.position_kernel});
  places_weight_ = weight_of(lengths, directions, device);
  places_bias_ = loader.vector(places + "bias", {config.width});
}

// x [1, channels before, time] -> [1, channels, time / stride]
Tensor Wav2Vec2FeatureEncoder::extract(const Conv& conv, const Tensor& x) const {
  Conv1dOptions options;
  options.stride = conv.stride;
  Tensor y = conv1d(x, conv.weight, conv.bias, options);
  if (layer_norm_) {
    y = transpose(layer_norm(transpose(y, 1, 2), conv.norm_weight, conv.norm_bias, kConvNormEpsilon), 1, 2);
  } else if (conv.norm_weight.defined()) {
    y = group_norm(y, y.dim(1), conv.norm_weight, conv.norm_bias, kConvNormEpsilon);
  }
  return activate(activation_, y);
}

Tensor Wav2Vec2FeatureEncoder::add_places(const Tensor& x) const {
  const int64_t kernel = places_weight_.dim(2);
  Conv1dOptions options;
  options.padding = kernel / 2;
  options.groups = places_groups_;
  const Tensor line = reshape(transpose(x, 0, 1), {1, x.dim(1), x.dim(0)});
  // An even kernel makes one place too many.
  const Tensor places = narrow(conv1d(line, places_weight_, places_bias_, options), 2, 0, x.dim(0));
  return add(x, transpose(reshape(activate(activation_, places), {x.dim(1), x.dim(0)}), 0, 1));
}

Tensor Wav2Vec2FeatureEncoder::operator()(std::span<const float> samples) const {
  Tensor x = from_span(samples, {1, 1, static_cast<int64_t>(samples.size())}).to_device(device_);
  for (const Conv& conv : convs_) x = in_scratch([&] { return extract(conv, x); });
  return in_scratch([&] {
    const Tensor rows = projection_(norm_(reshape(transpose(x, 1, 2), {x.dim(2), x.dim(1)})));
    return places_weight_.defined() ? add_places(rows) : rows;
  });
}

}  // namespace wick
