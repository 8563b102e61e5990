#include "nn/encoder_layer.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "nn/scratch.h"
#include "ops/binary.h"
#include "ops/layers/scaled_dot_product_attention.h"
#include "ops/rearrange.h"
#include "ops/view.h"
#include "tensor/arena.h"
#include "tensor/create.h"

namespace wick {
namespace {

const BatchHooks kNoHooks;

// What a half of a layer adds, scaled.
Tensor scaled(const Tensor& y, const Tensor& scale) { return scale.defined() ? mul(y, scale) : y; }

}  // namespace

Linear weight_rows(const Linear& whole, int64_t begin, int64_t count) {
  if (!whole.defined()) return {};
  Linear part = whole;
  part.weight = narrow(whole.weight, 0, begin, count);
  if (whole.bias.defined()) part.bias = narrow(whole.bias, 0, begin, count);
  return part;
}

const Tensor& EncoderStep::band(int64_t length, int64_t window) {
  Tensor& band = bands_[{length, window}];
  if (band.defined()) return band;
  const ArenaPause keep;
  band = full({1, 1, length, length}, 0, DType::kU8);
  auto* sees = band.mutable_data<uint8_t>();
  for (int64_t query = 0; query < length; ++query) {
    for (int64_t key = 0; key < length; ++key) sees[query * length + key] = std::abs(query - key) <= window;
  }
  return band;
}

Tensor EncoderStep::bias(const RelativeBias& relative, int64_t length, int64_t first) {
  if (length > kRowsAtOnce) return relative.scores(length, first, std::min(kRowsAtOnce, length - first));
  Tensor& bias = biases_[{&relative, length}];
  if (!bias.defined()) bias = relative.scores(length, 0, length);
  return bias;
}

Tensor EncoderLayer::attend(const LinearInput& input, EncoderStep& step, const RopeRows& rope, bool interleaved,
                            int layer) const {
  const BatchHooks& hooks = step.hooks ? *step.hooks : kNoHooks;
  const auto parts = apply_linears(input, {&q, &k, &v});
  const auto in_heads = [&](HookPoint point, const Tensor& rows, int64_t count, const Norm& norm) {
    return hooks(point, layer, norm(reshape(rows, {rows.dim(0), count, -1})));
  };
  const int64_t shared = kv_heads > 0 ? kv_heads : heads;
  Tensor query = in_heads(HookPoint::kAttnQ, parts[0], heads, q_norm);
  Tensor key = in_heads(HookPoint::kAttnK, parts[1], shared, k_norm);
  const Tensor value = in_heads(HookPoint::kAttnV, parts[2], shared, {});
  if (rope.cos.defined()) {
    query = rotate_heads(query, rope, interleaved);
    key = rotate_heads(key, rope, interleaved);
  }
  std::vector<Tensor> seen;
  int64_t row = 0;
  for (size_t i = 0; i < step.lengths.size();) {  // neighbours of one length are one batch
    const int64_t length = step.lengths[i];
    int64_t count = 0;
    for (; i < step.lengths.size() && step.lengths[i] == length; ++i) ++count;
    const auto batch = [&](const Tensor& rows) {  // [count, heads, length, head_dim]
      return transpose(reshape(narrow(rows, 0, row, count * length), {count, length, rows.dim(1), -1}), 1, 2);
    };
    AttentionOptions options;
    options.scale = scale;
    options.causal = causal;
    if (window > 0 && length > window + 1) options.mask = step.band(length, window).to_device(query.device());
    const Tensor queries = batch(query), keys = batch(key), values = batch(value);
    std::vector<Tensor> parts_seen;  // numbers for each pair of tokens are many in long texts: some rows at a time
    const int64_t at_once = relative && !causal ? EncoderStep::kRowsAtOnce : length;
    for (int64_t first = 0; first < length; first += at_once) {
      const int64_t some = std::min(at_once, length - first);
      if (relative) options.mask = step.bias(*relative, length, first).to_device(query.device());
      parts_seen.push_back(scaled_dot_product_attention(some == length ? queries : narrow(queries, 2, first, some),
                                                        keys, values, options));
    }
    const Tensor part = parts_seen.size() == 1 ? parts_seen.front() : concat(parts_seen, 2);
    seen.push_back(reshape(transpose(part, 1, 2), {count * length, heads, -1}));
    row += count * length;
  }
  const Tensor z = hooks(HookPoint::kAttnZ, layer, seen.size() == 1 ? seen.front() : concat(seen, 0));
  return reshape(z, {z.dim(0), -1});
}

Tensor EncoderLayer::operator()(const Tensor& in, EncoderStep& step, const RopeRows& rope, bool interleaved,
                                int layer) const {
  const BatchHooks& hooks = step.hooks ? *step.hooks : kNoHooks;
  const auto normed = [&](const Norm& norm, const Tensor& x) {
    return norms_sums ? LinearInput{x} : norm.input_for(x);
  };
  const auto sum = [&](const Norm& norm, const Tensor& x) { return norms_sums ? norm(x) : x; };
  const Tensor x = hooks(HookPoint::kResidPre, layer, in);
  const Tensor mid = in_scratch([&] {
    const LinearInput z{attend(normed(attn_norm, x), step, rope, interleaved, layer)};
    const bool is_apart = attn_post_norm.present() || attn_scale.defined() || hooks.wants(HookPoint::kAttnOut, layer);
    if (!is_apart) return sum(attn_norm, out(z, x));
    const Tensor made = scaled(attn_post_norm(out(z, {})), attn_scale);
    return sum(attn_norm, add(x, hooks(HookPoint::kAttnOut, layer, made)));
  });
  const Tensor from = hooks(HookPoint::kResidMid, layer, mid);
  return in_scratch([&] {
    const LinearInput input = normed(mlp_norm, from);
    const bool is_apart = mlp_post_norm.present() || mlp_scale.defined() || hooks.wants(HookPoint::kMlpOut, layer);
    const Tensor made = is_apart ? add(from, hooks(HookPoint::kMlpOut, layer,
                                                   scaled(mlp_post_norm(mlp(input, {}, hooks, layer)), mlp_scale)))
                                 : mlp(input, from, hooks, layer);
    return hooks(HookPoint::kResidPost, layer, sum(mlp_norm, made));
  });
}

}  // namespace wick
