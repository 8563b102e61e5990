#include "speech/ctc/wav2vec2_layer.h"

#include "base/text.h"
#include "nn/scratch.h"
#include "ops/binary.h"
#include "ops/layers/scaled_dot_product_attention.h"
#include "ops/unary.h"
#include "ops/view.h"

namespace wick {

Wav2Vec2Mlp::Wav2Vec2Mlp(const Wav2Vec2Config& config, const std::string& name, WeightLoader& loader)
    : up(loader.linear(name + ".intermediate_dense", config.intermediate, config.width, true)),
      down(loader.linear(name + ".output_dense", config.width, config.intermediate, true)),
      activation(config.activation) {}

Tensor Wav2Vec2Mlp::operator()(const Tensor& x) const { return down(activate(activation, up(x))); }

Wav2Vec2Layer::Wav2Vec2Layer(const Wav2Vec2Config& config, const std::string& prefix, WeightLoader& loader)
    : norm_first_(config.norm_first), adapts_(config.adapter > 0) {
  const int64_t width = config.width;
  const auto norm = [&](const char* name) {
    return loader.norm(prefix + name, NormKind::kLayer, width, config.eps, true, true, 0);
  };
  attention_.heads = config.heads;
  attention_.q = loader.linear(prefix + "attention.q_proj", width, width, true);
  attention_.k = loader.linear(prefix + "attention.k_proj", width, width, true);
  attention_.v = loader.linear(prefix + "attention.v_proj", width, width, true);
  attention_.out = loader.linear(prefix + "attention.out_proj", width, width, true);
  attn_norm_ = norm("layer_norm");
  mlp_ = Wav2Vec2Mlp(config, prefix + "feed_forward", loader);
  mlp_norm_ = norm("final_layer_norm");
  if (!adapts_) return;
  adapter_norm_ = norm("adapter_layer.norm");
  adapter_up_ = loader.linear(prefix + "adapter_layer.linear_1", config.adapter, width, true);
  adapter_down_ = loader.linear(prefix + "adapter_layer.linear_2", width, config.adapter, true);
}

Tensor Wav2Vec2Layer::attend(const Tensor& x) const {
  const auto& [q, k, v, out, heads] = attention_;
  return out(join_heads(
      scaled_dot_product_attention(split_heads(q(x), heads), split_heads(k(x), heads), split_heads(v(x), heads))));
}

Tensor Wav2Vec2Layer::adapt(const Tensor& x) const {
  return add(x, adapter_down_(relu(adapter_up_(adapter_norm_(x)))));
}

Tensor Wav2Vec2Layer::operator()(const Tensor& x) const {
  if (!norm_first_) {
    const Tensor mid = in_scratch([&] { return attn_norm_(add(x, attend(x))); });
    return in_scratch([&] { return mlp_norm_(add(mid, mlp_(mid))); });
  }
  const Tensor mid = in_scratch([&] { return add(x, attend(attn_norm_(x))); });
  const Tensor out = in_scratch([&] { return add(mid, mlp_(mlp_norm_(mid))); });
  return adapts_ ? in_scratch([&] { return adapt(out); }) : out;
}

}  // namespace wick
