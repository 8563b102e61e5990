#include "speech/conformer_layer.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "nn/scratch.h"
#include "ops/binary.h"
#include "ops/layers/conv.h"
#include "ops/layers/matmul.h"
#include "ops/layers/rope.h"
#include "ops/layers/scaled_dot_product_attention.h"
#include "ops/rearrange.h"
#include "ops/unary.h"
#include "ops/view.h"
#include "tensor/create.h"

namespace wick {
namespace {

constexpr double kBatchNormEpsilon = 1e-5;  // of PyTorch's BatchNorm1d
constexpr int64_t kQueriesAtOnce = 128;     // with scores of their distances; no result depends on it

// Sines at even and cosines at odd components, with wavelengths from 2 pi to 10000 * 2 pi.
Tensor distance_table(int64_t rows, int64_t width) {
  Tensor table = empty({2 * rows - 1, width});
  auto* values = table.mutable_data<float>();
  for (int64_t at = 0; at < 2 * rows - 1; ++at, values += width) {
    const auto distance = static_cast<double>(rows - 1 - at);
    for (int64_t i = 0; i < width; ++i) {
      const double rate = std::exp(-std::log(10000.0) * static_cast<double>(i - i % 2) / static_cast<double>(width));
      values[i] = static_cast<float>(i % 2 ? std::cos(distance * rate) : std::sin(distance * rate));
    }
  }
  return table;
}

// The factor and the summand of each channel that a batch norm comes down to.
struct FoldedNorm {
  Tensor scale, shift;
};
FoldedNorm fold_batch_norm(const std::string& name, int64_t width, WeightLoader& loader, const Device& device) {
  const Tensor weight = loader.vector(name + ".weight", {width}), bias = loader.vector(name + ".bias", {width});
  const Tensor mean = loader.vector(name + ".running_mean", {width}),
               var = loader.vector(name + ".running_var", {width});
  if (loader.is_listing()) return {};
  const auto host = [](const Tensor& x) { return x.to_device(Device::cpu()).to_vector<float>(); };
  const auto weights = host(weight), biases = host(bias), means = host(mean), variances = host(var);
  std::vector<float> scale, shift;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (variances[i] < 0) throw Error(ErrorCode::kBadFile, cat("tensor '", name, ".running_var' has ", variances[i]));
    const double factor = weights[i] / std::sqrt(variances[i] + kBatchNormEpsilon);
    scale.push_back(static_cast<float>(factor));
    shift.push_back(static_cast<float>(biases[i] - means[i] * factor));
  }
  return {from_vector(scale, {width}).to_device(device), from_vector(shift, {width}).to_device(device)};
}

// A convolution with a kernel of one is a matrix.
Linear pointwise(const std::string& name, int64_t outputs, int64_t inputs, bool bias, WeightLoader& loader) {
  Linear linear;
  const Tensor weight = loader.vector(name + ".weight", {outputs, inputs, 1});
  if (bias) linear.bias = loader.vector(name + ".bias", {outputs});
  if (weight.defined()) linear.weight = reshape(weight, {outputs, inputs});
  return linear;
}

}  // namespace

Tensor split_heads(const Tensor& rows, int64_t heads) {
  return transpose(reshape(rows, {1, rows.dim(0), heads, -1}), 1, 2);
}

Tensor join_heads(const Tensor& heads) { return reshape(transpose(heads, 1, 2), {heads.dim(2), -1}); }

void use_wav2vec2_names(ConformerConfig& config) {
  config.mlp1_norm = "ffn1_layer_norm";
  config.mlp1_up = "ffn1.intermediate_dense";
  config.mlp1_down = "ffn1.output_dense";
  config.attn_norm = "self_attn_layer_norm";
  config.conv_norm = "conv_module.layer_norm";
  config.conv = "conv_module.";
  config.mlp2_norm = "ffn2_layer_norm";
  config.mlp2_up = "ffn2.intermediate_dense";
  config.mlp2_down = "ffn2.output_dense";
  config.final_norm = "final_layer_norm";
}

void use_nemo_names(ConformerConfig& config) {
  config.mlp1_norm = "norm_feed_forward1";
  config.mlp1_up = "feed_forward1.linear1";
  config.mlp1_down = "feed_forward1.linear2";
  config.attn_norm = "norm_self_att";
  config.conv_norm = "norm_conv";
  config.conv = "conv.";
  config.mlp2_norm = "norm_feed_forward2";
  config.mlp2_up = "feed_forward2.linear1";
  config.mlp2_down = "feed_forward2.linear2";
  config.final_norm = "norm_out";
}

ConformerPlaces conformer_places(const ConformerConfig& config, int64_t rows, const Device& device) {
  ConformerPlaces places;
  if (config.positions == ConformerConfig::Positions::kRelative) {
    places.relative = distance_table(rows, config.width).to_device(device);
  } else if (config.positions == ConformerConfig::Positions::kRotary) {
    const int64_t size = config.width / config.heads;
    Tensor cos = empty({rows, size / 2}), sin = empty({rows, size / 2});
    auto *c = cos.mutable_data<float>(), *s = sin.mutable_data<float>();
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t i = 0; i < size / 2; ++i) {
        const double rate = std::pow(config.rotary_base, -2.0 * static_cast<double>(i) / static_cast<double>(size));
        *c++ = static_cast<float>(std::cos(static_cast<double>(row) * rate));
        *s++ = static_cast<float>(std::sin(static_cast<double>(row) * rate));
      }
    }
    places.cos = cos.to_device(device);
    places.sin = sin.to_device(device);
  }
  return places;
}

ConformerLayer::ConformerLayer(const ConformerConfig& config, const std::string& prefix, WeightLoader& loader,
                               const Device& device)
    : width_(config.width), heads_(config.heads), activation_(config.activation) {
  const int64_t width = width_, inner = config.intermediate;
  const auto norm = [&](const std::string& name) {
    return loader.norm(prefix + name, NormKind::kLayer, width, config.eps, true, true, 0);
  };
  const auto linear = [&](const std::string& name, int64_t outputs, int64_t inputs) {
    return loader.linear(prefix + name, outputs, inputs, true);
  };
  mlp1_norm_ = norm(config.mlp1_norm);
  mlp1_up_ = linear(config.mlp1_up, inner, width);
  mlp1_down_ = linear(config.mlp1_down, width, inner);
  attn_norm_ = norm(config.attn_norm);
  q_ = linear("self_attn.linear_q", width, width);
  k_ = linear("self_attn.linear_k", width, width);
  v_ = linear("self_attn.linear_v", width, width);
  out_ = linear("self_attn.linear_out", width, width);
  if (config.positions == ConformerConfig::Positions::kRelative) {
    places_ = loader.linear(prefix + "self_attn.linear_pos", width, width, false);
    const Shape biases = {config.heads, 1, width / config.heads};
    content_bias_ = loader.vector(prefix + "self_attn.pos_bias_u", biases);
    place_bias_ = loader.vector(prefix + "self_attn.pos_bias_v", biases);
  }
  const std::string conv = prefix + config.conv;
  conv_norm_ = norm(config.conv_norm);
  pointwise_in_ = pointwise(conv + "pointwise_conv1", 2 * width, width, config.conv_bias, loader);
  depthwise_ = loader.vector(conv + "depthwise_conv.weight", {width, 1, config.kernel});
  if (config.conv_bias) depthwise_bias_ = loader.vector(conv + "depthwise_conv.bias", {width});
  const FoldedNorm batch = fold_batch_norm(conv + "batch_norm", width, loader, device);
  batch_scale_ = batch.scale;
  batch_shift_ = batch.shift;
  pointwise_out_ = pointwise(conv + "pointwise_conv2", width, width, config.conv_bias, loader);
  mlp2_norm_ = norm(config.mlp2_norm);
  mlp2_up_ = linear(config.mlp2_up, inner, width);
  mlp2_down_ = linear(config.mlp2_down, width, inner);
  final_norm_ = norm(config.final_norm);
}

// Transformer-XL: score(i, j) = (q_i + u) k_j + (q_i + v) p_(i-j). The second products are computed for a block of
// queries and all distances that occur in it; a row's own are a view that begins one place earlier in each row.
Tensor ConformerLayer::attend_relative(const Tensor& query, const Tensor& key, const Tensor& value,
                                       const Tensor& places) const {
  const int64_t heads = heads_, rows = query.dim(2), size = query.dim(3);
  const float scale = 1 / std::sqrt(static_cast<float>(size));
  const Tensor distances = permute(reshape(places_(places), {2 * rows - 1, heads, size}), {1, 2, 0});
  std::vector<Tensor> parts;
  for (int64_t first = 0; first < rows; first += kQueriesAtOnce) {
    const int64_t count = std::min(kQueriesAtOnce, rows - first), columns = rows + count - 1;
    const Tensor some = narrow(query, 2, first, count);
    const Tensor near = narrow(distances, 2, rows - first - count, columns);  // [heads, size, columns]
    const Tensor all = mul(matmul(add(reshape(some, {heads, count, size}), place_bias_), near), scale).contiguous();
    Layout shifted = Layout::contiguous({1, heads, count, rows});
    shifted.strides[1] = count * columns;
    shifted.strides[2] = columns - 1;
    shifted.offset = all.layout().offset + count - 1;
    AttentionOptions options;
    options.mask = all.with_layout(shifted).contiguous();
    options.scale = scale;
    parts.push_back(scaled_dot_product_attention(add(some, content_bias_), key, value, options));
  }
  return parts.size() == 1 ? parts.front() : concat(parts, 2);
}

Tensor ConformerLayer::attend(const Tensor& x, const ConformerPlaces& places) const {
  // Rows are turned before they are projected.
  const Tensor turned = places.cos.defined() ? join_heads(rope(split_heads(x, heads_), places.cos, places.sin)) : x;
  const Tensor query = split_heads(q_(turned), heads_), key = split_heads(k_(turned), heads_);
  const Tensor value = split_heads(v_(x), heads_);
  return out_(join_heads(places.relative.defined() ? attend_relative(query, key, value, places.relative)
                                                   : scaled_dot_product_attention(query, key, value)));
}

Tensor ConformerLayer::convolve(const Tensor& x) const {
  const int64_t rows = x.dim(0);
  const Tensor both = pointwise_in_(conv_norm_(x));
  const Tensor gated = mul(narrow(both, 1, 0, width_), sigmoid(narrow(both, 1, width_, width_)));
  Conv1dOptions options;
  options.padding = depthwise_.dim(2) / 2;
  options.groups = width_;
  const Tensor line = conv1d(reshape(transpose(gated, 0, 1), {1, width_, rows}), depthwise_, depthwise_bias_, options);
  const Tensor mixed = transpose(reshape(line, {width_, rows}), 0, 1);
  return pointwise_out_(activate(activation_, add(mul(mixed, batch_scale_), batch_shift_)));
}

Tensor ConformerLayer::operator()(const Tensor& x, const ConformerPlaces& places) const {
  const auto half = [](const Tensor& y) { return mul(y, 0.5); };
  Tensor y = in_scratch([&] { return add(half(mlp(mlp1_up_, mlp1_down_, mlp1_norm_(x))), x); });
  y = in_scratch([&] { return add(attend(attn_norm_(y), places), y); });
  y = in_scratch([&] { return add(convolve(y), y); });
  return in_scratch([&] { return final_norm_(add(half(mlp(mlp2_up_, mlp2_down_, mlp2_norm_(y))), y)); });
}

}  // namespace wick
