#include "models/recurrent/mamba.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "base/thread_pool.h"
#include "models/recurrent/fast_exp.h"
#include "models/recurrent/recurrent_model.h"
#include "ops/add.h"
#include "ops/exp.h"
#include "ops/mul.h"
#include "ops/narrow.h"
#include "ops/neg.h"
#include "ops/permute.h"
#include "ops/recurrent_kernels.h"
#include "ops/softplus.h"
#include "tensor/arena.h"
#include "tensor/create.h"

namespace wick {
namespace {

constexpr int64_t kChannels = 64;  // that one thread takes through all tokens; their states stay in its cache

// One token of some channels.
void scan_token(const float* __restrict u, const float* __restrict dt, const float* __restrict b,
                const float* __restrict c, const float* __restrict a, const float* __restrict d, int64_t states,
                int64_t row, int64_t channels, float* __restrict h, float* __restrict y) {
  float fed[kChannels];
  for (int64_t i = 0; i < channels; ++i) {
    fed[i] = dt[i] * u[i];
    y[i] = d[i] * u[i];
  }
  for (int64_t n = 0; n < states; ++n) {
    for (int64_t i = 0; i < channels; ++i) {
      const float next = fast_exp(dt[i] * a[n * row + i]) * h[n * row + i] + fed[i] * b[n];
      h[n * row + i] = next;
      y[i] += next * c[n];
    }
  }
}

struct MambaLayer {
  Norm norm;
  MambaMixer mixer;
};

class Mamba final : public RecurrentModel {
 public:
  struct Sizes {
    int64_t inner = 0, state = 0, rank = 0, taps = 0;
    bool bias = false, conv_bias = true;
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
  const Tensor steps =
      step.hooks(HookPoint::kDecay, layer, softplus(dt(narrow(selected, 1, 0, dt.inputs()).contiguous()))).contiguous();
  const Tensor y = scan(u, steps, selected, step, layer);
  step.hook_state(layer, 1);
  const Tensor gate = step.hooks(HookPoint::kGate, layer, activate(activation, narrow(parts, 1, inner, inner)));
  return out(mul(y, gate));
}

Tensor MambaMixer::scan(const Tensor& u, const Tensor& steps, const Tensor& selected, const RecurrentStep& step,
                        int layer) const {
  const int64_t states = a.dim(0), inner = a.dim(1), rank = dt.inputs(), width = select.outputs();
  Tensor y = empty_like(u);
  if (const RecurrentKernels* kernels = recurrent_kernels(u.device())) {
    const Tensor b = narrow(selected, 1, rank, states), c = narrow(selected, 1, rank + states, states);
    for (const RecurrentStep::Rows& rows : step.sequences) {
      const auto of = [&](const Tensor& all) { return narrow(all, 0, rows.begin, rows.count); };
      kernels->mamba(of(u), of(steps), of(b), of(c), a, d, step.state(rows, layer, 1), of(y));
    }
    return y;
  }
  const float *us = u.data<float>(), *dts = steps.data<float>(), *bcs = selected.data<float>() + rank;
  const float *as = a.data<float>(), *ds = d.data<float>();
  float* ys = y.mutable_data<float>();
  const int64_t blocks = (inner + kChannels - 1) / kChannels;
  parallel_for(static_cast<int64_t>(step.sequences.size()) * blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t piece = begin; piece < end; ++piece) {
      const RecurrentStep::Rows& rows = step.sequences[static_cast<size_t>(piece / blocks)];
      const int64_t first = piece % blocks * kChannels, channels = std::min(kChannels, inner - first);
      float* h = step.state(rows, layer, 1).mutable_data<float>() + first;
      for (int64_t t = rows.begin; t < rows.begin + rows.count; ++t) {
        const int64_t at = t * inner + first;
        const float* b = bcs + t * width;
        scan_token(us + at, dts + at, b, b + states, as + first, ds + first, states, inner, channels, h, ys + at);
      }
    }
  });
  return y;
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
  RecurrentConfig common = read_recurrent_config(config, "mamba", true);
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
  sizes.bias = config.flag("use_bias", false);
  sizes.conv_bias = config.flag("use_conv_bias", true);
  sizes.activation = activation_named(config.text("hidden_act", "silu"));
  return std::make_unique<Mamba>(common, sizes, loader, options);
}

}  // namespace wick
