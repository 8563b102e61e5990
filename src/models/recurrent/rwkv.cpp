#include "models/recurrent/rwkv.h"

#include <algorithm>

#include "base/text.h"
#include "models/recurrent/recurrent_model.h"
#include "models/recurrent/rwkv_layer.h"
#include "ops/add.h"
#include "ops/exp.h"
#include "tensor/arena.h"
#include "tensor/create.h"

namespace wick {
namespace {

class Rwkv final : public RecurrentModel {
 public:
  Rwkv(const RecurrentConfig& config, int64_t inner, int64_t intermediate, WeightLoader& loader,
       const ModelOptions& options)
      : RecurrentModel(config, {{config.hidden}, {config.hidden}, {3, inner}}, loader, options), inner_(inner) {
    const ArenaPause keep;
    embed_norm_ = norm(loader, "rwkv.blocks.0.pre_ln");
    for (int64_t i = 0; i < config.layers; ++i) {
      const std::string prefix = cat("rwkv.blocks.", i, ".");
      RwkvLayer layer;
      layer.time_norm = norm(loader, prefix + "ln1");
      layer.time_mix = load_time_mix(loader, prefix + "attention.");
      layer.channel_norm = norm(loader, prefix + "ln2");
      layer.channel_mix = load_channel_mix(loader, prefix + "feed_forward.", intermediate);
      layers_.push_back(std::move(layer));
    }
    load_head(loader);
  }

  RecurrentState new_state() const override {
    const ArenaPause keep;
    RecurrentState state = RecurrentModel::new_state();
    for (size_t i = kRwkvSums; i < state.tensors.size(); i += kRwkvStateCount) {
      const Tensor sums = zeros({3, inner_});
      std::fill_n(sums.mutable_data<float>() + 2 * inner_, inner_, kRwkvNoExponent);
      state.tensors[i] = sums.to_device(device());
    }
    return state;
  }

 private:
  Norm norm(WeightLoader& loader, const std::string& name) const {
    return loader.norm(name, config_.norm, config_.hidden, config_.norm_eps, true, true, 0);
  }

  RwkvTimeMix load_time_mix(WeightLoader& loader, const std::string& prefix) const {
    const int64_t hidden = config_.hidden;
    RwkvTimeMix mix;
    mix.blend_key = loader.vector(prefix + "time_mix_key", {hidden});
    mix.blend_value = loader.vector(prefix + "time_mix_value", {hidden});
    mix.blend_receptance = loader.vector(prefix + "time_mix_receptance", {hidden});
    const Tensor decay = loader.vector(prefix + "time_decay", {inner_});
    if (decay.defined()) mix.decay = exp(decay);
    mix.bonus = loader.vector(prefix + "time_first", {inner_});
    mix.key = loader.linear(prefix + "key", inner_, hidden, false);
    mix.value = loader.linear(prefix + "value", inner_, hidden, false);
    mix.receptance = loader.linear(prefix + "receptance", inner_, hidden, false);
    mix.out = loader.linear(prefix + "output", hidden, inner_, false);
    return mix;
  }

  RwkvChannelMix load_channel_mix(WeightLoader& loader, const std::string& prefix, int64_t intermediate) const {
    const int64_t hidden = config_.hidden;
    RwkvChannelMix mix;
    mix.blend_key = loader.vector(prefix + "time_mix_key", {hidden});
    mix.blend_receptance = loader.vector(prefix + "time_mix_receptance", {hidden});
    mix.key = loader.linear(prefix + "key", intermediate, hidden, false);
    mix.receptance = loader.linear(prefix + "receptance", hidden, hidden, false);
    mix.value = loader.linear(prefix + "value", hidden, intermediate, false);
    return mix;
  }

  Tensor run_layer(int index, const Tensor& x, const RecurrentStep& step) const override {
    const RwkvLayer& layer = layers_[static_cast<size_t>(index)];
    const BatchHooks& hook = step.hooks;
    const Tensor pre = hook(HookPoint::kResidPre, index, x);
    const Tensor mixed = hook(HookPoint::kAttnOut, index, layer.time_mix(layer.time_norm(pre), step, index));
    const Tensor mid = hook(HookPoint::kResidMid, index, add(pre, mixed));
    const Tensor fed = hook(HookPoint::kMlpOut, index, layer.channel_mix(layer.channel_norm(mid), step, index));
    return hook(HookPoint::kResidPost, index, add(mid, fed));
  }

  const int64_t inner_;
  std::vector<RwkvLayer> layers_;
};

}  // namespace

// rescale_every keeps halved numbers within the range of f16; what it halves, the norms undo. In f32 there is no need.
std::unique_ptr<LanguageModel> make_rwkv(const ConfigReader& config, WeightLoader& loader,
                                         const ModelOptions& options) {
  RecurrentConfig common = read_recurrent_config(config, "rwkv", false);
  common.norm = NormKind::kLayer;
  common.embed = "rwkv.embeddings";
  common.final_norm = "rwkv.ln_out";
  common.head = "head";
  const int64_t inner =
      checked_setting("attention_hidden_size", config.integer("attention_hidden_size", common.hidden));
  const int64_t intermediate =
      checked_setting("intermediate_size", config.integer("intermediate_size", 4 * common.hidden));
  return std::make_unique<Rwkv>(common, inner, intermediate, loader, options);
}

}  // namespace wick
