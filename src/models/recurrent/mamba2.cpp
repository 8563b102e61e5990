#include "models/recurrent/mamba2.h"

#include "base/error.h"
#include "base/text.h"
#include "models/recurrent/mamba.h"
#include "models/recurrent/recurrent_model.h"
#include "nn/short_conv.h"
#include "ops/add.h"
#include "ops/clamp.h"
#include "ops/exp.h"
#include "ops/mul.h"
#include "ops/narrow.h"
#include "ops/neg.h"
#include "ops/recurrence.h"
#include "ops/reshape.h"
#include "ops/rms_norm.h"
#include "ops/softplus.h"
#include "tensor/arena.h"
#include "tensor/create.h"

namespace wick {
namespace {

// A bound of time_step_limit; Hugging Face writes infinity as {"__float__": "Infinity"}.
float time_step(const Json& bound) {
  const Json* text = bound.is_object() ? bound.find("__float__") : &bound;
  if (text && text->is_text() && text->as_text() == "Infinity") return std::numeric_limits<float>::infinity();
  return static_cast<float>(bound.as_number());
}

struct Mamba2Layer {
  Norm norm;
  Mamba2Mixer mixer;
};

class Mamba2 final : public RecurrentModel {
 public:
  struct Biases {
    bool projections, convolution;
  };

  // `mixer`: one without weights.
  Mamba2(const RecurrentConfig& config, const Mamba2Mixer& mixer, int64_t taps, Biases biases, WeightLoader& loader,
         const ModelOptions& options)
      : RecurrentModel(config, {{taps - 1, mixer.conv_channels()}, {mixer.heads, mixer.states, mixer.head_dim}}, loader,
                       options) {
    const ArenaPause keep;
    for (int64_t i = 0; i < config.layers; ++i) {
      const std::string prefix = cat("backbone.layers.", i, ".");
      Mamba2Layer layer;
      layer.norm = loader.norm(prefix + "norm", config.norm, config.hidden, config.norm_eps, true, false, 0);
      layer.mixer = load_mixer(mixer, prefix + "mixer.", taps, biases, loader);
      layers_.push_back(std::move(layer));
    }
    load_head(loader);
  }

 private:
  Mamba2Mixer load_mixer(Mamba2Mixer mixer, const std::string& prefix, int64_t taps, Biases biases,
                         WeightLoader& loader) const {
    const int64_t inner = mixer.inner(), channels = mixer.conv_channels(), heads = mixer.heads;
    mixer.in = loader.linear(prefix + "in_proj", inner + channels + heads, config_.hidden, biases.projections);
    mixer.conv_weight = taps_first(loader.vector(prefix + "conv1d.weight", {channels, taps}));
    if (biases.convolution) mixer.conv_bias = loader.vector(prefix + "conv1d.bias", {channels});
    const Tensor a_log = loader.vector(prefix + "A_log", {heads});
    if (a_log.defined()) mixer.a = neg(exp(a_log));
    mixer.d = loader.vector(prefix + "D", {heads});
    mixer.dt_bias = loader.vector(prefix + "dt_bias", {heads});
    mixer.norm_weight = loader.vector(prefix + "norm.weight", {inner});
    mixer.out = loader.linear(prefix + "out_proj", config_.hidden, inner, biases.projections);
    return mixer;
  }

  Tensor run_layer(int index, const Tensor& x, const RecurrentStep& step) const override {
    const Mamba2Layer& layer = layers_[static_cast<size_t>(index)];
    const Tensor pre = step.hooks(HookPoint::kResidPre, index, x);
    const Tensor out = step.hooks(HookPoint::kAttnOut, index, layer.mixer(layer.norm(pre), step, index));
    return step.hooks(HookPoint::kResidPost, index, add(pre, out));
  }

  std::vector<Mamba2Layer> layers_;
};

}  // namespace

Tensor Mamba2Mixer::operator()(const Tensor& x, const RecurrentStep& step, int layer) const {
  const Tensor parts = in(x);
  const Tensor convolved =
      activate(activation, step.convolve(narrow(parts, 1, inner(), conv_channels()), conv_weight, conv_bias, layer, 0));
  Tensor entering = narrow(convolved, 1, 0, inner());
  if (step.hooks.active()) entering = step.hooks(HookPoint::kMixerIn, layer, entering.contiguous()).contiguous();
  const Tensor dt = softplus(add(narrow(parts, 1, inner() + conv_channels(), heads), dt_bias));
  const Tensor steps = step.hooks(HookPoint::kDecay, layer, clamp(dt, least_dt, most_dt)).contiguous();
  const int64_t shared = groups * states;
  const Tensor y = mamba2_scan(entering, steps, narrow(convolved, 1, inner(), shared),
                               narrow(convolved, 1, inner() + shared, shared), a, d, step.state_rows(layer, 1));
  step.hook_state(layer, 1);
  const Tensor gate = step.hooks(HookPoint::kGate, layer, activate(activation, narrow(parts, 1, 0, inner())));
  return out(gated_norm(y, gate));
}

Tensor Mamba2Mixer::gated_norm(const Tensor& y, const Tensor& gate) const {
  const Tensor gated = mul(y, gate);
  if (groups == 1) return rms_norm(gated, norm_weight, norm_eps);
  const Tensor normed = rms_norm(reshape(gated, {y.dim(0), groups, inner() / groups}), {}, norm_eps);
  return mul(reshape(normed, {y.dim(0), inner()}), norm_weight);
}

std::unique_ptr<LanguageModel> make_mamba2(const ConfigReader& config, WeightLoader& loader,
                                           const ModelOptions& options) {
  RecurrentConfig common = read_recurrent_config(config, "mamba2", false);
  common.embed = "backbone.embeddings";
  common.final_norm = "backbone.norm_f";
  common.head = "lm_head";
  Mamba2Mixer mixer;
  const int64_t inner = mamba_inner_size(config, common.hidden);
  mixer.head_dim = checked_setting("head_dim", config.integer("head_dim", 64), 1 << 16);
  mixer.heads = checked_setting("num_heads", config.integer("num_heads", inner / mixer.head_dim), 1 << 16);
  mixer.groups = checked_setting("n_groups", config.integer("n_groups", 1), 1 << 16);
  mixer.states = checked_setting("state_size", config.integer("state_size", 128), 1 << 16);
  if (mixer.inner() != inner || mixer.heads % mixer.groups != 0) {
    throw Error(ErrorCode::kBadFile, cat("config.json: num_heads ", mixer.heads, " of head_dim ", mixer.head_dim,
                                         " in n_groups ", mixer.groups, " do not make up ", inner, " channels"));
  }
  if (const Json* limit = config.find("time_step_limit")) {
    if (limit->as_array().size() != 2) throw Error(ErrorCode::kBadFile, cat(limit->place(), " is not two numbers"));
    mixer.least_dt = time_step(limit->as_array()[0]);
    mixer.most_dt = time_step(limit->as_array()[1]);
    if (!(mixer.least_dt <= mixer.most_dt)) {
      throw Error(ErrorCode::kBadFile, cat(limit->place(), " is from ", mixer.least_dt, " to ", mixer.most_dt));
    }
  }
  mixer.norm_eps = common.norm_eps;
  mixer.activation = activation_named(config.text("hidden_act", "silu"));
  const int64_t taps = checked_setting("conv_kernel", config.integer("conv_kernel", 4), 1024);
  const Mamba2::Biases biases = {config.flag("use_bias", false), config.flag("use_conv_bias", true)};
  return std::make_unique<Mamba2>(common, mixer, taps, biases, loader, options);
}

}  // namespace wick
