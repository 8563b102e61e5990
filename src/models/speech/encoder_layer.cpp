#include "models/speech/encoder_layer.h"

#include <vector>

#include "nn/scratch.h"
#include "ops/add.h"
#include "ops/concat.h"
#include "ops/narrow.h"
#include "ops/permute.h"
#include "ops/reshape.h"
#include "ops/scaled_dot_product_attention.h"

namespace wick {
namespace {

constexpr float kEpsilon = 1e-5f;  // of PyTorch's LayerNorm; no config says otherwise

}  // namespace

EncoderLayer::EncoderLayer(const EncoderLayerConfig& config, const std::string& prefix, WeightLoader& loader)
    : heads_(config.heads), activation_(config.activation) {
  const int64_t width = config.width;
  const auto norm = [&](const char* name) {
    return loader.norm(prefix + name, NormKind::kLayer, width, kEpsilon, true, true, 0);
  };
  attn_norm_ = norm("self_attn_layer_norm");
  q_ = loader.linear(prefix + "self_attn.q_proj", width, width, true);
  k_ = loader.linear(prefix + "self_attn.k_proj", width, width, config.key_bias);
  v_ = loader.linear(prefix + "self_attn.v_proj", width, width, true);
  out_ = loader.linear(prefix + "self_attn.out_proj", width, width, true);
  mlp_norm_ = norm("final_layer_norm");
  up_ = loader.linear(prefix + "fc1", config.intermediate, width, true);
  down_ = loader.linear(prefix + "fc2", width, config.intermediate, true);
}

Tensor EncoderLayer::attend(const Tensor& x, std::span<const int64_t> windows) const {
  const Tensor query = q_(x), key = k_(x), value = v_(x);
  std::vector<Tensor> parts;
  int64_t row = 0;
  for (size_t i = 0; i < windows.size();) {  // neighbours of one length are one batch
    const int64_t length = windows[i];
    int64_t count = 0;
    for (; i < windows.size() && windows[i] == length; ++i) ++count;
    const auto heads = [&](const Tensor& rows) {  // [count, heads, length, head_dim]
      return transpose(reshape(narrow(rows, 0, row, count * length), {count, length, heads_, -1}), 1, 2);
    };
    const Tensor seen = scaled_dot_product_attention(heads(query), heads(key), heads(value));
    parts.push_back(reshape(transpose(seen, 1, 2), {count * length, -1}));
    row += count * length;
  }
  return out_(parts.size() == 1 ? parts.front() : concat(parts, 0));
}

Tensor EncoderLayer::operator()(const Tensor& x, std::span<const int64_t> windows) const {
  const Tensor mid = in_scratch([&] { return add(x, attend(attn_norm_(x), windows)); });
  return in_scratch([&] { return add(mid, down_(activate(activation_, up_(mlp_norm_(mid))))); });
}

}  // namespace wick
