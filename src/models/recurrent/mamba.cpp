#include "models/recurrent/mamba.h"

#include "base/error.h"
#include "base/text.h"
#include "models/recurrent/recurrent_model.h"
#include "nn/short_conv.h"
#include "ops/add.h"
#include "ops/exp.h"
#include "ops/mul.h"
#include "ops/narrow.h"
#include "ops/neg.h"
#include "ops/permute.h"
#include "ops/recurrence.h"
#include "ops/softplus.h"
#include "tensor/arena.h"
#include "tensor/create.h"

namespace wick {
namespace {

struct MambaLayer {
  Norm norm;
  MambaMixer mixer;
};

class Mamba final : public RecurrentModel {
 public:
  struct Sizes {
    int64_t inner = 0, state = 0, rank = 0, taps = 0;
    bool bias = false, conv_bias = true;
    Norm select_norm;
    Activation activation = Activation::kSilu;
  };

  Mamba(const RecurrentConfig& config, const Sizes& sizes, WeightLoader& loader, const ModelOptions& options)
      : RecurrentModel(config, {{sizes.taps - 1, sizes.inner}, {sizes.state, sizes.inner}}, loader, options) {
    for (int64_t i = 0; i < config.layers; ++i) {
      layers_.push_back(load_layer(cat("backbone.layers.", i, "."), sizes, loader));
    }
    load_head(loader);
  }

 private:
  MambaLayer load_layer(const std::string& prefix, const Sizes& sizes, WeightLoader& loader) const;

  Tensor run_layer(int index, const Tensor& x, const RecurrentStep& step) const override {
    const MambaLayer& layer = layers_[static_cast<size_t>(index)];
    const Tensor pre = step.hooks(HookPoint::kResidPre, index, x);
    const Tensor out = step.hooks(HookPoint::kAttnOut, index, layer.mixer(layer.norm(pre), step, index));
    return step.hooks(HookPoint::kResidPost, index, add(pre, out));
  }

  std::vector<MambaLayer> layers_;
};

MambaLayer Mamba::load_layer(const std::string& prefix, const Sizes& sizes, WeightLoader& loader) const {
  const ArenaPause keep;
  const std::string mixer_prefix = prefix + "mixer.";
  MambaLayer layer;
  layer.norm = loader.norm(prefix + "norm", config_.norm, config_.hidden, config_.norm_eps, true, false, 0);
  MambaMixer& mixer = layer.mixer;
  mixer.activation = sizes.activation;
  mixer.select_norm = sizes.select_norm;
  mixer.in = loader.linear(mixer_prefix + "in_proj", 2 * sizes.inner, config_.hidden, sizes.bias);
  mixer.conv_weight = taps_first(loader.vector(mixer_prefix + "conv1d.weight", {sizes.inner, sizes.taps}));
  if (sizes.conv_bias) mixer.conv_bias = loader.vector(mixer_prefix + "conv1d.bias", {sizes.inner});
  mixer.select = loader.linear(mixer_prefix + "x_proj", sizes.rank + 2 * sizes.state, sizes.inner, false);
  mixer.dt = loader.linear(mixer_prefix + "dt_proj", sizes.inner, sizes.rank, true);
  const Tensor a_log = loader.vector(mixer_prefix + "A_log", {sizes.inner, sizes.state});
  if (a_log.defined()) mixer.a = neg(exp(transpose(a_log, 0, 1).contiguous()));
  mixer.d = loader.vector(mixer_prefix + "D", {sizes.inner});
  mixer.out = loader.linear(mixer_prefix + "out_proj", config_.hidden, sizes.inner, sizes.bias);
  return layer;
}

}  // namespace

Tensor MambaMixer::operator()(const Tensor& x, const RecurrentStep& step, int layer) const {
  const int64_t inner = a.dim(1);
  const Tensor parts = in(x);
  const Tensor convolved = step.convolve(narrow(parts, 1, 0, inner), conv_weight, conv_bias, layer, 0);
  const Tensor u = step.hooks(HookPoint::kMixerIn, layer, activate(activation, convolved)).contiguous();
  const Tensor selected = select(u);
  const int64_t states = a.dim(0), rank = dt.inputs();
  const auto part = [&](int64_t begin, int64_t size) {
    const Tensor x = narrow(selected, 1, begin, size);
    return select_norm.present() ? select_norm(x.contiguous()) : x;
  };
  const Tensor steps = step.hooks(HookPoint::kDecay, layer, softplus(dt(part(0, rank).contiguous()))).contiguous();
  const Tensor y =
      mamba_scan(u, steps, part(rank, states), part(rank + states, states), a, d, step.state_rows(layer, 1));
  step.hook_state(layer, 1);
  const Tensor gate = step.hooks(HookPoint::kGate, layer, activate(activation, narrow(parts, 1, inner, inner)));
  return out(mul(y, gate));
}

int64_t mamba_inner_size(const ConfigReader& config, int64_t hidden) {
  if (config.has("intermediate_size")) {
    return checked_setting("intermediate_size", config.integer("intermediate_size"));
  }
  const double expand = config.number("expand", 2);
  if (!(expand > 0 && expand < 1024)) {
    throw Error(ErrorCode::kBadFile, cat("config.json: expand is ", expand, ", expected above 0 and below 1024"));
  }
  return checked_setting("expand times hidden_size", static_cast<int64_t>(expand * static_cast<double>(hidden)));
}

std::unique_ptr<LanguageModel> make_mamba(const ConfigReader& config, WeightLoader& loader,
                                          const ModelOptions& options) {
  const std::string family = config.text("model_type", "mamba");
  RecurrentConfig common = read_recurrent_config(config, family, true);
  common.embed = "backbone.embeddings";
  common.final_norm = "backbone.norm_f";
  common.head = "lm_head";
  Mamba::Sizes sizes;
  sizes.inner = mamba_inner_size(config, common.hidden);
  sizes.state = checked_setting("state_size", config.integer("state_size", 16), 1 << 16);
  sizes.taps = checked_setting("conv_kernel", config.integer("conv_kernel", 4), 1024);
  const Json* rank = config.find("time_step_rank");
  const bool worked_out = !rank || (rank->is_text() && rank->as_text() == "auto");
  sizes.rank = checked_setting("time_step_rank", worked_out ? (common.hidden + 15) / 16 : rank->as_int());
  if (family == "falcon_mamba") {
    sizes.select_norm.kind = NormKind::kRms;
    sizes.select_norm.eps = static_cast<float>(config.number("mixer_rms_eps", 1e-6));
  }
  sizes.bias = config.flag("use_bias", false);
  sizes.conv_bias = config.flag("use_conv_bias", true);
  sizes.activation = activation_named(config.text("hidden_act", "silu"));
  return std::make_unique<Mamba>(common, sizes, loader, options);
}

}  // namespace wick
