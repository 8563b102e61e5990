#include "nn/recurrent/rwkv.h"

#include "models/mixers/mixers.h"
#include "models/weight_loader.h"
#include "ops/unary.h"
#include "tensor/arena.h"

namespace wick {

MixerLoader rwkv_time_loader(const std::string& name, int64_t hidden, int64_t inner) {
  return [=](WeightLoader& loader, const std::string& layer) -> std::shared_ptr<const RecurrentMixer> {
    const ArenaPause keep;
    const std::string prefix = layer + name;
    RwkvTimeMix mix;
    mix.hidden = hidden;
    mix.inner = inner;
    mix.blend_key = loader.vector(prefix + "time_mix_key", {hidden});
    mix.blend_value = loader.vector(prefix + "time_mix_value", {hidden});
    mix.blend_receptance = loader.vector(prefix + "time_mix_receptance", {hidden});
    const Tensor decay = loader.vector(prefix + "time_decay", {inner});
    if (decay.defined()) mix.decay = exp(decay);
    mix.bonus = loader.vector(prefix + "time_first", {inner});
    mix.key = loader.linear(prefix + "key", inner, hidden, false);
    mix.value = loader.linear(prefix + "value", inner, hidden, false);
    mix.receptance = loader.linear(prefix + "receptance", inner, hidden, false);
    mix.out = loader.linear(prefix + "output", hidden, inner, false);
    return std::make_shared<RwkvTimeMix>(std::move(mix));
  };
}

MixerLoader rwkv_channel_loader(const std::string& name, int64_t hidden, int64_t intermediate) {
  return [=](WeightLoader& loader, const std::string& layer) -> std::shared_ptr<const RecurrentMixer> {
    const ArenaPause keep;
    const std::string prefix = layer + name;
    RwkvChannelMix mix;
    mix.hidden = hidden;
    mix.blend_key = loader.vector(prefix + "time_mix_key", {hidden});
    mix.blend_receptance = loader.vector(prefix + "time_mix_receptance", {hidden});
    mix.key = loader.linear(prefix + "key", intermediate, hidden, false);
    mix.receptance = loader.linear(prefix + "receptance", hidden, hidden, false);
    mix.value = loader.linear(prefix + "value", hidden, intermediate, false);
    return std::make_shared<RwkvChannelMix>(std::move(mix));
  };
}

}  // namespace wick
