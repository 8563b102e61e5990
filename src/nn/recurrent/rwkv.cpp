#include "nn/recurrent/rwkv.h"

#include <algorithm>

#include "base/thread_pool.h"
#include "ops/binary.h"
#include "ops/layers/recurrence.h"
#include "ops/unary.h"
#include "ops/view.h"
#include "tensor/create.h"

namespace wick {
namespace {

// The row before each row: of the same sequence, from the state for its first. The last one becomes the state.
Tensor rows_before(const Tensor& x, const MixerStep& step) {
  Tensor before = empty_like(x);
  for (const SequenceState& rows : step.sequences) {
    const Tensor& last = step.state(rows, 0);
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

}  // namespace

void RwkvTimeMix::begin(std::span<const Tensor> state) const {
  const Tensor sums = zeros({3, inner});
  std::fill_n(sums.mutable_data<float>() + 2 * inner, inner, kRwkvNoExponent);
  copy_values(sums.to_device(state[1].device()), state[1]);
}

Tensor RwkvTimeMix::average(const Tensor& keys, const Tensor& values, const MixerStep& step) const {
  Tensor decays = broadcast_as(decay, keys.shape());  // the same for every token, unless somebody changes it
  if (step.hooks.wants(HookPoint::kDecay, step.layer)) {
    decays = step.hook(HookPoint::kDecay, decays.contiguous()).contiguous();
  }
  const Tensor out = rwkv_scan(keys, values, decays, bonus, step.rows(1));
  step.hook_state(1);
  return out;
}

Tensor RwkvTimeMix::operator()(const Tensor& x, const MixerStep& step) const {
  const Tensor before = rows_before(x, step);
  const Tensor keys = key(blend(x, before, blend_key));
  const Tensor values = step.hook(HookPoint::kMixerIn, value(blend(x, before, blend_value))).contiguous();
  const Tensor gate = step.hook(HookPoint::kGate, sigmoid(receptance(blend(x, before, blend_receptance))));
  return out(mul(gate, average(keys, values, step)));
}

Tensor RwkvChannelMix::operator()(const Tensor& x, const MixerStep& step) const {
  const Tensor before = rows_before(x, step);
  const Tensor pre = step.hook(HookPoint::kMlpPre, key(blend(x, before, blend_key)));
  const Tensor post = step.hook(HookPoint::kMlpPost, sqr(relu(pre)));
  return mul(sigmoid(receptance(blend(x, before, blend_receptance))), value(post));
}

}  // namespace wick
