#include "models/vision/sam_decoder.h"

#include <cmath>
#include <numbers>

#include "base/error.h"
#include "base/text.h"
#include "models/read_count.h"
#include "models/vision/sam_encoder.h"
#include "ops/binary.h"
#include "ops/layers/conv.h"
#include "ops/layers/matmul.h"
#include "ops/layers/scaled_dot_product_attention.h"
#include "ops/rearrange.h"
#include "ops/unary.h"
#include "ops/view.h"
#include "tensor/arena.h"
#include "tensor/create.h"

namespace wick {
namespace {

constexpr size_t kMostPrompts = 1024;
constexpr int64_t kMaskHeadDepth = 3;  // no config says otherwise

}  // namespace

SamDecoderConfig read_sam_decoder_config(const Json& config, int64_t features) {
  const ConfigReader decoder(config.at("mask_decoder_config")), prompts(config.at("prompt_encoder_config"));
  SamDecoderConfig sam;
  sam.features = features;
  sam.side = read_count(prompts, "image_size", 1 << 13);
  sam.grid = read_count(prompts, "image_embedding_size", 1 << 13);
  sam.width = read_count(decoder, "hidden_size");
  sam.layers = read_count(decoder, "num_hidden_layers", 64);
  sam.heads = read_count(decoder, "num_attention_heads");
  sam.intermediate = read_count(decoder, "mlp_dim");
  sam.masks = read_count(decoder, "num_multimask_outputs", 64);
  sam.narrowing = read_count(decoder, "attention_downsample_rate", 64);
  sam.iou_width = read_count(decoder, "iou_head_hidden_dim");
  sam.iou_depth = read_count(decoder, "iou_head_depth", 64);
  sam.eps = static_cast<float>(decoder.number("layer_norm_eps", 1e-6));
  sam.activation = activation_named(decoder.text("hidden_act", "relu"));
  const int64_t inner = sam.width / sam.narrowing;
  if (sam.width % 8 != 0 || sam.width % sam.narrowing != 0 || inner % sam.heads != 0 || sam.width != 2 * features ||
      prompts.integer("hidden_size") != sam.width || sam.iou_depth < 2) {
    throw bad_setting("the sizes of a 'sam' do not fit each other");
  }
  return sam;
}

Tensor SamDecoder::Head::operator()(Tensor x) const {
  for (size_t i = 0; i < linears.size(); ++i) x = i + 1 < linears.size() ? relu(linears[i](x)) : linears[i](x);
  return x;
}

SamDecoder::CrossAttention SamDecoder::load_attention(const std::string& prefix, int64_t inner,
                                                      WeightLoader& loader) const {
  CrossAttention attention;
  attention.q = loader.linear(prefix + "q_proj", inner, config_.width, true);
  attention.k = loader.linear(prefix + "k_proj", inner, config_.width, true);
  attention.v = loader.linear(prefix + "v_proj", inner, config_.width, true);
  attention.out = loader.linear(prefix + "out_proj", config_.width, inner, true);
  return attention;
}

SamDecoder::Head SamDecoder::load_head(const std::string& prefix, int64_t inner, int64_t outputs, int64_t depth,
                                       WeightLoader& loader) const {
  Head head;
  head.linears.push_back(loader.linear(prefix + "proj_in", inner, config_.width, true));
  for (int64_t i = 0; i + 2 < depth; ++i) {
    head.linears.push_back(loader.linear(cat(prefix, "layers.", i), inner, inner, true));
  }
  head.linears.push_back(loader.linear(prefix + "proj_out", outputs, inner, true));
  return head;
}

SamDecoder::SamDecoder(const SamDecoderConfig& config, WeightLoader& loader)
    : config_(config), device_(loader.device()) {
  const ArenaPause keep;
  const int64_t width = config_.width, inner = width / config_.narrowing;
  const auto vector = [&](const std::string& name, const Shape& shape) { return loader.vector(name, shape); };
  const auto norm = [&](const std::string& name, int64_t size) {
    return loader.norm(name, NormKind::kLayer, size, config_.eps, true, true, 0);
  };
  frequencies_ = vector("shared_image_embedding.positional_embedding", {2, config_.features});
  for (int i = 0; i < 4; ++i) point_kinds_[i] = vector(cat("prompt_encoder.point_embed.", i, ".weight"), {1, width});
  no_point_ = vector("prompt_encoder.not_a_point_embed.weight", {1, width});
  no_mask_ = vector("prompt_encoder.no_mask_embed.weight", {width, 1, 1});
  const Tensor iou = vector("mask_decoder.iou_token.weight", {1, width});
  const Tensor masks = vector("mask_decoder.mask_tokens.weight", {config_.masks + 1, width});
  if (iou.defined()) output_tokens_ = concat({iou, masks}, 0);
  for (int64_t i = 0; i < config_.layers; ++i) {
    const std::string prefix = cat("mask_decoder.transformer.layers.", i, ".");
    Layer layer;
    layer.own = load_attention(prefix + "self_attn.", width, loader);
    layer.to_picture = load_attention(prefix + "cross_attn_token_to_image.", inner, loader);
    layer.to_tokens = load_attention(prefix + "cross_attn_image_to_token.", inner, loader);
    for (int j = 0; j < 4; ++j) layer.norms[j] = norm(cat(prefix, "layer_norm", j + 1), width);
    layer.mlp.activation = config_.activation;
    layer.mlp.up = loader.linear(prefix + "mlp.lin1", config_.intermediate, width, true);
    layer.mlp.down = loader.linear(prefix + "mlp.lin2", width, config_.intermediate, true);
    layers_.push_back(std::move(layer));
  }
  final_attention_ = load_attention("mask_decoder.transformer.final_attn_token_to_image.", inner, loader);
  final_norm_ = norm("mask_decoder.transformer.layer_norm_final_attn", width);
  first_weight_ = vector("mask_decoder.upscale_conv1.weight", {width, width / 4, 2, 2});
  first_bias_ = vector("mask_decoder.upscale_conv1.bias", {width / 4});
  second_weight_ = vector("mask_decoder.upscale_conv2.weight", {width / 4, width / 8, 2, 2});
  second_bias_ = vector("mask_decoder.upscale_conv2.bias", {width / 8});
  upscale_norm_ = norm("mask_decoder.upscale_layer_norm", width / 4);
  for (int64_t i = 0; i <= config_.masks; ++i) {
    mask_heads_.push_back(
        load_head(cat("mask_decoder.output_hypernetworks_mlps.", i, "."), width, width / 8, kMaskHeadDepth, loader));
  }
  iou_head_ =
      load_head("mask_decoder.iou_prediction_head.", config_.iou_width, config_.masks + 1, config_.iou_depth, loader);
}

Tensor SamDecoder::places(const std::vector<float>& coordinates) const {
  const Tensor around = sub(mul(from_vector(coordinates, {std::ssize(coordinates) / 2, 2}), 2), 1).to_device(device_);
  const Tensor angles = mul(matmul(around, frequencies_), 2 * std::numbers::pi);
  return concat({sin(angles), cos(angles)}, 1);
}

// Points, then the corners of boxes; a point without meaning stands for boxes where there are none.
Tensor SamDecoder::embed(const SamPrompt& prompt) const {
  const auto scaled = [&](float pixel) { return (pixel + 0.5f) / static_cast<float>(config_.side); };
  std::vector<float> coordinates;
  std::vector<Tensor> kinds;
  for (const SamPrompt::Point& point : prompt.points) {
    coordinates.insert(coordinates.end(), {scaled(point.x), scaled(point.y)});
    kinds.push_back(point_kinds_[point.is_inside ? 1 : 0]);
  }
  for (const std::array<float, 4>& box : prompt.boxes) {
    for (const float pixel : box) coordinates.push_back(scaled(pixel));
    kinds.push_back(point_kinds_[2]);
    kinds.push_back(point_kinds_[3]);
  }
  const Tensor placed = add(places(coordinates), concat(kinds, 0));
  return prompt.boxes.empty() ? concat({placed, no_point_}, 0) : placed;
}

Tensor SamDecoder::attend(const CrossAttention& attention, const Tensor& query, const Tensor& key,
                          const Tensor& value) const {
  const auto in_heads = [&](const Tensor& x) {
    return transpose(reshape(x, {1, x.dim(0), config_.heads, x.dim(1) / config_.heads}), 1, 2);
  };
  const Tensor seen = scaled_dot_product_attention(in_heads(attention.q(query)), in_heads(attention.k(key)),
                                                   in_heads(attention.v(value)), {});
  return attention.out(reshape(transpose(seen, 1, 2), {query.dim(0), -1}));
}

std::pair<Tensor, Tensor> SamDecoder::segment(const Tensor& encoded, const SamPrompt& prompt) const {
  const int64_t grid = config_.grid, width = config_.width;
  const Shape expected{width, grid, grid};
  if (!encoded.defined() || !(encoded.shape() == expected) || encoded.dtype() != DType::kF32) {
    throw Error(ErrorCode::kInvalidArgument, cat("what a sam has encoded is f32 ", expected));
  }
  const size_t count = prompt.points.size() + prompt.boxes.size();
  if (count == 0 || count > kMostPrompts) {
    throw Error(ErrorCode::kInvalidArgument,
                cat("there are ", count, " points and boxes, expected 1 to ", kMostPrompts));
  }
  Arena arena;
  const ArenaScope scope(arena);
  const auto rows_of = [&](const Tensor& image) {
    return transpose(reshape(image, {width, grid * grid}), 0, 1).contiguous();
  };
  std::vector<float> centers;
  for (int64_t row = 0; row < grid; ++row) {
    for (int64_t column = 0; column < grid; ++column) {
      for (const int64_t place : {column, row}) {
        centers.push_back((static_cast<float>(place) + 0.5f) / static_cast<float>(grid));
      }
    }
  }
  const Tensor where = places(centers), tokens = concat({output_tokens_, embed(prompt)}, 0);
  Tensor queries = tokens, keys = rows_of(add(encoded.to_device(device_), no_mask_));
  for (size_t i = 0; i < layers_.size(); ++i) {
    const Layer& layer = layers_[i];
    if (i == 0) {
      queries = attend(layer.own, queries, queries, queries);
    } else {
      const Tensor placed = add(queries, tokens);
      queries = add(queries, attend(layer.own, placed, placed, queries));
    }
    queries = layer.norms[0](queries);
    queries = layer.norms[1](add(queries, attend(layer.to_picture, add(queries, tokens), add(keys, where), keys)));
    queries = layer.norms[2](layer.mlp({queries}, queries, BatchHooks(), 0));
    keys = layer.norms[3](add(keys, attend(layer.to_tokens, add(keys, where), add(queries, tokens), queries)));
  }
  queries = final_norm_(add(queries, attend(final_attention_, add(queries, tokens), add(keys, where), keys)));

  const Tensor image = reshape(transpose(keys, 0, 1), {1, width, grid, grid}).contiguous();
  ConvTranspose2dOptions twice;
  twice.stride = 2;
  Tensor larger = gelu(norm_channels(upscale_norm_, conv_transpose2d(image, first_weight_, first_bias_, twice)));
  larger = reshape(gelu(conv_transpose2d(larger, second_weight_, second_bias_, twice)), {width / 8, 16 * grid * grid});
  std::vector<Tensor> weights;
  for (int64_t i = 1; i <= config_.masks; ++i) {  // the first is for prompts that leave no doubt
    weights.push_back(mask_heads_[static_cast<size_t>(i)](narrow(queries, 0, 1 + i, 1).contiguous()));
  }
  const Tensor scores = reshape(matmul(concat(weights, 0), larger), {config_.masks, 4 * grid, 4 * grid});
  const Tensor ious =
      reshape(narrow(iou_head_(narrow(queries, 0, 0, 1).contiguous()), 1, 1, config_.masks), {config_.masks});
  const ArenaPause keep;
  return {scores.clone().to_device(Device::cpu()), ious.clone().to_device(Device::cpu())};
}

}  // namespace wick
