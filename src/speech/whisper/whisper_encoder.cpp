#include "speech/whisper/whisper_encoder.h"

#include "base/error.h"
#include "base/text.h"
#include "nn/scratch.h"
#include "ops/binary.h"
#include "ops/layers/conv.h"
#include "ops/unary.h"
#include "ops/view.h"

namespace wick {

WhisperEncoder::WhisperEncoder(const WhisperConfig& config, WeightLoader& loader, Device device)
    : config_(config), device_(device) {
  const ArenaPause keep;
  const std::string prefix = config_.prefix + "encoder.";
  const int64_t width = config_.width;
  for (int i = 0; i < 2; ++i) {
    const std::string name = cat(prefix, "conv", i + 1);
    conv_weight_[i] = loader.vector(name + ".weight", {width, i == 0 ? config_.bins : width, 3});
    conv_bias_[i] = loader.vector(name + ".bias", {width});
  }
  positions_ = loader.vector(prefix + "embed_positions.weight", {config_.source_positions, width});
  AudioLayerConfig layer{width, config_.encoder_heads, config_.encoder_intermediate, config_.activation};
  layer.key_bias = false;
  for (int64_t i = 0; i < config_.encoder_layers; ++i) {
    layers_.push_back(load_audio_layer(layer, cat(prefix, "layers.", i, "."), loader));
  }
  final_norm_ = loader.norm(prefix + "layer_norm", NormKind::kLayer, width, 1e-5f, true, true, 0);
}

Tensor WhisperEncoder::encode(const Tensor& mel) const {
  if (!mel.defined() || !is_float(mel.dtype()) || !(mel.shape() == Shape{config_.bins, config_.frames()})) {
    throw Error(ErrorCode::kInvalidArgument,
                cat("a spectrogram is ", mel.defined() ? cat(mel.dtype(), " ", mel.shape()) : std::string("undefined"),
                    ", expected f32 [", config_.bins, ", ", config_.frames(), "]"));
  }
  Arena arena;
  Tensor encoded;
  {
    const ArenaScope scope(arena);
    Tensor x = in_scratch([&] {
      const Tensor image = reshape(mel.to_device(device_).to_dtype(DType::kF32), {1, config_.bins, -1});
      const Tensor once = gelu(conv1d(image, conv_weight_[0], conv_bias_[0], {.padding = 1}));
      const Tensor halved = gelu(conv1d(once, conv_weight_[1], conv_bias_[1], {.stride = 2, .padding = 1}));
      return add(reshape(transpose(halved, 1, 2), {-1, config_.width}), positions_);
    });
    const int64_t window = config_.source_positions;
    EncoderStep step({&window, 1});
    for (size_t i = 0; i < layers_.size(); ++i) x = layers_[i](x, step, {}, false, static_cast<int>(i));
    const ArenaPause keep;
    encoded = final_norm_(x);
  }
  return encoded;
}

}  // namespace wick
