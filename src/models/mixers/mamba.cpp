#include "models/mixers/mixers.h"
#include "models/weight_loader.h"
#include "ops/unary.h"
#include "ops/view.h"
#include "tensor/arena.h"

namespace wick {

MixerLoader short_conv_loader(const ShortConv& sizes, const std::string& name, bool bias) {
  return [=](WeightLoader& loader, const std::string& layer) -> std::shared_ptr<const RecurrentMixer> {
    const ArenaPause keep;
    const std::string prefix = layer + name;
    ShortConv conv = sizes;
    conv.in = loader.linear(prefix + "in_proj", 3 * conv.hidden, conv.hidden, bias);
    conv.out = loader.linear(prefix + "out_proj", conv.hidden, conv.hidden, bias);
    conv.weight = taps_first(loader.vector(prefix + "conv.weight", {conv.hidden, conv.taps}));
    if (bias) conv.bias = loader.vector(prefix + "conv.bias", {conv.hidden});
    return std::make_shared<ShortConv>(std::move(conv));
  };
}

MixerLoader mamba_loader(const Mamba& sizes, const std::string& name, int64_t hidden, MixerBiases biases,
                         bool weighted_norms) {
  return [=](WeightLoader& loader, const std::string& layer) -> std::shared_ptr<const RecurrentMixer> {
    const ArenaPause keep;
    const std::string prefix = layer + name;
    Mamba mixer = sizes;
    mixer.in = loader.linear(prefix + "in_proj", 2 * mixer.inner, hidden, biases.in);
    mixer.conv_weight = taps_first(loader.vector(prefix + "conv1d.weight", {mixer.inner, mixer.taps}));
    if (biases.convolution) mixer.conv_bias = loader.vector(prefix + "conv1d.bias", {mixer.inner});
    mixer.select = loader.linear(prefix + "x_proj", mixer.rank + 2 * mixer.states, mixer.inner, false);
    mixer.dt = loader.linear(prefix + "dt_proj", mixer.inner, mixer.rank, true);
    if (weighted_norms) {
      mixer.dt_norm.weight = loader.vector(prefix + "dt_layernorm.weight", {mixer.rank});
      mixer.b_norm.weight = loader.vector(prefix + "b_layernorm.weight", {mixer.states});
      mixer.c_norm.weight = loader.vector(prefix + "c_layernorm.weight", {mixer.states});
    }
    const Tensor a_log = loader.vector(prefix + "A_log", {mixer.inner, mixer.states});
    if (a_log.defined()) mixer.a = neg(exp(transpose(a_log, 0, 1).contiguous()));
    mixer.d = loader.vector(prefix + "D", {mixer.inner});
    mixer.out = loader.linear(prefix + "out_proj", hidden, mixer.inner, biases.out);
    return std::make_shared<Mamba>(std::move(mixer));
  };
}

MixerLoader mamba2_loader(const Mamba2& sizes, const std::string& name, int64_t hidden, MixerBiases biases,
                          bool normed) {
  return [=](WeightLoader& loader, const std::string& layer) -> std::shared_ptr<const RecurrentMixer> {
    const ArenaPause keep;
    const std::string prefix = layer + name;
    Mamba2 mixer = sizes;
    const int64_t inner = mixer.inner(), channels = mixer.conv_channels(), heads = mixer.heads;
    mixer.in = loader.linear(prefix + "in_proj", inner + channels + heads, hidden, biases.in);
    mixer.conv_weight = taps_first(loader.vector(prefix + "conv1d.weight", {channels, mixer.taps}));
    if (biases.convolution) mixer.conv_bias = loader.vector(prefix + "conv1d.bias", {channels});
    const Tensor a_log = loader.vector(prefix + "A_log", {heads});
    if (a_log.defined()) mixer.a = neg(exp(a_log));
    mixer.d = loader.vector(prefix + "D", {heads});
    mixer.dt_bias = loader.vector(prefix + "dt_bias", {heads});
    if (normed) mixer.norm_weight = loader.vector(prefix + "norm.weight", {inner});
    mixer.out = loader.linear(prefix + "out_proj", hidden, inner, biases.out);
    if (mixer.part_scales.defined()) mixer.part_scales = mixer.part_scales.to_device(loader.device());
    return std::make_shared<Mamba2>(std::move(mixer));
  };
}

}  // namespace wick
