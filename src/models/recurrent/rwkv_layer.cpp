#include "models/recurrent/rwkv_layer.h"

#include <algorithm>

#include "base/thread_pool.h"
#include "models/recurrent/fast_exp.h"
#include "ops/add.h"
#include "ops/broadcast_as.h"
#include "ops/mul.h"
#include "ops/narrow.h"
#include "ops/neg.h"
#include "ops/recurrent_kernels.h"
#include "ops/relu.h"
#include "ops/sigmoid.h"
#include "ops/sqr.h"
#include "tensor/create.h"

namespace wick {
namespace {

constexpr int64_t kChannels = 64;  // that one thread takes through all tokens

// The row before each row: of the same sequence, from the state for its first. The last one becomes the state.
Tensor rows_before(const Tensor& x, const RecurrentStep& step, int layer, RwkvState state) {
  Tensor before = empty_like(x);
  for (const RecurrentStep::Rows& rows : step.sequences) {
    const Tensor& last = step.state(rows, layer, state);
    const Tensor last_row = last.with_layout(last.layout().unsqueeze(0));
    copy_values(last_row, narrow(before, 0, rows.begin, 1));
    copy_values(narrow(x, 0, rows.begin, rows.count - 1), narrow(before, 0, rows.begin + 1, rows.count - 1));
    copy_values(narrow(x, 0, rows.begin + rows.count - 1, 1), last_row);
  }
  return before;
}

// x * share + before * (1 - share)
Tensor blend(const Tensor& x, const Tensor& before, const Tensor& share) {
  if (!x.device().is_host()) return add(mul(x, share), mul(before, add(neg(share), 1.0)));
  Tensor out = empty_like(x);
  const int64_t hidden = x.dim(1);
  const float *xs = x.data<float>(), *befores = before.data<float>(), *shares = share.data<float>();
  float* outs = out.mutable_data<float>();
  parallel_for(x.dim(0), 8, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      const float* __restrict now = xs + t * hidden;
      const float* __restrict old = befores + t * hidden;
      float* __restrict to = outs + t * hidden;
      for (int64_t i = 0; i < hidden; ++i) to[i] = now[i] * shares[i] + old[i] * (1 - shares[i]);
    }
  });
  return out;
}

// One token of some channels. Sums are kept relative to e^top, so that no exponent overflows.
void average_token(const float* __restrict key, const float* __restrict value, const float* __restrict bonus,
                   const float* __restrict decay, int64_t channels, float* __restrict sum, float* __restrict weight,
                   float* __restrict top, float* __restrict out) {
  for (int64_t i = 0; i < channels; ++i) {
    const float own = key[i] + bonus[i];
    const float most = top[i] > own ? top[i] : own;
    const float past_share = fast_exp(top[i] - most), own_share = fast_exp(own - most);
    out[i] = (past_share * sum[i] + own_share * value[i]) / (past_share * weight[i] + own_share);

    const float faded = top[i] - decay[i];
    const float next = faded > key[i] ? faded : key[i];
    const float kept = fast_exp(faded - next), added = fast_exp(key[i] - next);
    sum[i] = kept * sum[i] + added * value[i];
    weight[i] = kept * weight[i] + added;
    top[i] = next;
  }
}

}  // namespace

Tensor RwkvTimeMix::average(const Tensor& keys, const Tensor& values, const RecurrentStep& step, int layer) const {
  Tensor out = empty_like(keys);
  const int64_t inner = keys.dim(1), blocks = (inner + kChannels - 1) / kChannels;
  // The same for every token, unless somebody is looking.
  Tensor decays = decay;
  const bool per_token = step.hooks_touch(HookPoint::kDecay);
  if (per_token) {
    decays = step.hooks(HookPoint::kDecay, layer, broadcast_as(decay, keys.shape()).contiguous()).contiguous();
  }
  if (const RecurrentKernels* kernels = recurrent_kernels(keys.device())) {
    decays = broadcast_as(decays, keys.shape());
    for (const RecurrentStep::Rows& rows : step.sequences) {
      const auto of = [&](const Tensor& all) { return narrow(all, 0, rows.begin, rows.count); };
      kernels->rwkv(of(keys), of(values), of(decays), bonus, step.state(rows, layer, kRwkvSums), of(out));
    }
    step.hook_state(layer, kRwkvSums);
    return out;
  }
  const float *ks = keys.data<float>(), *vs = values.data<float>(), *ds = decays.data<float>();
  const float* bonuses = bonus.data<float>();
  float* outs = out.mutable_data<float>();
  parallel_for(static_cast<int64_t>(step.sequences.size()) * blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t piece = begin; piece < end; ++piece) {
      const RecurrentStep::Rows& rows = step.sequences[static_cast<size_t>(piece / blocks)];
      const int64_t first = piece % blocks * kChannels, channels = std::min(kChannels, inner - first);
      float* sums = step.state(rows, layer, kRwkvSums).mutable_data<float>() + first;
      for (int64_t t = rows.begin; t < rows.begin + rows.count; ++t) {
        const int64_t at = t * inner + first;
        average_token(ks + at, vs + at, bonuses + first, per_token ? ds + at : ds + first, channels, sums, sums + inner,
                      sums + 2 * inner, outs + at);
      }
    }
  });
  step.hook_state(layer, kRwkvSums);
  return out;
}

Tensor RwkvTimeMix::operator()(const Tensor& x, const RecurrentStep& step, int layer) const {
  const Tensor before = rows_before(x, step, layer, kRwkvTimeRow);
  const Tensor keys = key(blend(x, before, blend_key));
  const Tensor values = step.hooks(HookPoint::kMixerIn, layer, value(blend(x, before, blend_value))).contiguous();
  const Tensor gate = step.hooks(HookPoint::kGate, layer, sigmoid(receptance(blend(x, before, blend_receptance))));
  return out(mul(gate, average(keys, values, step, layer)));
}

Tensor RwkvChannelMix::operator()(const Tensor& x, const RecurrentStep& step, int layer) const {
  const Tensor before = rows_before(x, step, layer, kRwkvChannelRow);
  const Tensor pre = step.hooks(HookPoint::kMlpPre, layer, key(blend(x, before, blend_key)));
  const Tensor post = step.hooks(HookPoint::kMlpPost, layer, sqr(relu(pre)));
  return mul(sigmoid(receptance(blend(x, before, blend_receptance))), value(post));
}

}  // namespace wick
