#include "models/vision/sam_encoder.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "models/read_count.h"
#include "models/vision/patches.h"
#include "nn/scratch.h"
#include "ops/binary.h"
#include "ops/index.h"
#include "ops/layers/conv.h"
#include "ops/layers/matmul.h"
#include "ops/rearrange.h"
#include "ops/softmax.h"
#include "ops/view.h"
#include "tensor/arena.h"
#include "tensor/create.h"

namespace wick {
namespace {

// x [rows, columns, width] in windows [windows, window * window, width]; what is missing at the end is zeros.
Tensor in_windows(const Tensor& x, int64_t window) {
  const int64_t rows = (x.dim(0) + window - 1) / window, columns = (x.dim(1) + window - 1) / window, width = x.dim(2);
  const Tensor padded = pad(pad(x, 0, 0, rows * window - x.dim(0)), 1, 0, columns * window - x.dim(1));
  const Tensor cut = reshape(padded, {rows, window, columns, window, width});
  return reshape(permute(cut, {0, 2, 1, 3, 4}), {rows * columns, window * window, width});
}

Tensor out_of_windows(const Tensor& x, int64_t window, int64_t height, int64_t width) {
  const int64_t rows = (height + window - 1) / window, columns = (width + window - 1) / window;
  const Tensor cut = permute(reshape(x, {rows, columns, window, window, x.dim(2)}), {0, 2, 1, 3, 4});
  const Tensor whole = reshape(cut, {rows * window, columns * window, x.dim(2)});
  return narrow(narrow(whole, 0, 0, height), 1, 0, width);
}

// Of distances -(size - 1) .. size - 1, those from each place to each: [size, size, head_dim].
Tensor between_places(const Tensor& by_distance, int64_t size) {
  std::vector<int64_t> index;
  for (int64_t query = 0; query < size; ++query) {
    for (int64_t key = 0; key < size; ++key) index.push_back(query - key + size - 1);
  }
  const Tensor places = from_vector(index, {size * size}).to_device(by_distance.device());
  return reshape(index_select(by_distance, 0, places), {size, size, by_distance.dim(1)});
}

}  // namespace

SamEncoderConfig read_sam_encoder_config(const ConfigReader& config) {
  SamEncoderConfig sam;
  sam.side = read_count(config, "image_size", 1 << 13);
  sam.patch = read_count(config, "patch_size", 256);
  sam.width = read_count(config, "hidden_size");
  sam.layers = read_count(config, "num_hidden_layers", 4096);
  sam.heads = read_count(config, "num_attention_heads");
  sam.output = read_count(config, "output_channels");
  sam.window = read_count(config, "window_size", 1 << 10);
  sam.intermediate = config.has("mlp_dim")
                         ? read_count(config, "mlp_dim")
                         : static_cast<int64_t>(static_cast<double>(sam.width) * config.number("mlp_ratio", 4));
  sam.eps = static_cast<float>(config.number("layer_norm_eps", 1e-6));
  sam.activation = activation_named(config.text("hidden_act", "gelu"));
  sam.whole_layers = config.integers("global_attn_indexes");
  const bool fits = sam.width % sam.heads == 0 && sam.side % sam.patch == 0 && sam.intermediate > 0 &&
                    config.flag("use_abs_pos", true) && config.flag("use_rel_pos", true) &&
                    config.flag("qkv_bias", true) && config.integer("num_channels", 3) == 3;
  if (!fits) throw bad_setting("the vision_config of a 'sam' is of a kind that is not supported");
  return sam;
}

Tensor norm_channels(const Norm& norm, const Tensor& x) {
  return permute(norm(permute(x, {0, 2, 3, 1}).contiguous()), {0, 3, 1, 2}).contiguous();
}

SamEncoder::SamEncoder(const SamEncoderConfig& config, WeightLoader& loader)
    : config_(config), device_(loader.device()) {
  const ArenaPause keep;
  const int64_t width = config_.width, output = config_.output, grid = config_.grid();
  const Tensor weight =
      loader.vector("vision_encoder.patch_embed.projection.weight", {width, 3, config_.patch, config_.patch});
  if (weight.defined()) patches_.weight = reshape(weight, {width, 3 * config_.patch * config_.patch});
  patches_.bias = loader.vector("vision_encoder.patch_embed.projection.bias", {width});
  positions_ = loader.vector("vision_encoder.pos_embed", {grid * grid, width});
  for (int64_t i = 0; i < config_.layers; ++i) layers_.push_back(load_layer(i, loader));
  first_conv_ = loader.vector("vision_encoder.neck.conv1.weight", {output, width, 1, 1});
  second_conv_ = loader.vector("vision_encoder.neck.conv2.weight", {output, output, 3, 3});
  first_norm_ = loader.norm("vision_encoder.neck.layer_norm1", NormKind::kLayer, output, 1e-6f, true, true, 0);
  second_norm_ = loader.norm("vision_encoder.neck.layer_norm2", NormKind::kLayer, output, 1e-6f, true, true, 0);
}

SamEncoder::Layer SamEncoder::load_layer(int64_t index, WeightLoader& loader) const {
  const std::string prefix = cat("vision_encoder.layers.", index, ".");
  const int64_t width = config_.width;
  const auto norm = [&](const char* name) {
    return loader.norm(prefix + name, NormKind::kLayer, width, config_.eps, true, true, 0);
  };
  Layer layer;
  const auto& whole = config_.whole_layers;
  layer.window = std::find(whole.begin(), whole.end(), index) == whole.end() ? config_.window : 0;
  const int64_t size = layer.window > 0 ? layer.window : config_.grid();
  layer.attn_norm = norm("layer_norm1");
  layer.qkv = loader.linear(prefix + "attn.qkv", 3 * width, width, true);
  layer.out = loader.linear(prefix + "attn.proj", width, width, true);
  layer.by_row = loader.vector(prefix + "attn.rel_pos_h", {2 * size - 1, width / config_.heads});
  layer.by_column = loader.vector(prefix + "attn.rel_pos_w", {2 * size - 1, width / config_.heads});
  layer.mlp_norm = norm("layer_norm2");
  layer.mlp.activation = config_.activation;
  layer.mlp.up = loader.linear(prefix + "mlp.lin1", config_.intermediate, width, true);
  layer.mlp.down = loader.linear(prefix + "mlp.lin2", width, config_.intermediate, true);
  return layer;
}

// x [windows, size * size, width]; scores of one head at a time, for they are many.
Tensor SamEncoder::attend(const Layer& layer, const Tensor& x) const {
  const int64_t windows = x.dim(0), count = x.dim(1), width = x.dim(2), heads = config_.heads, dim = width / heads;
  const int64_t size = layer.window > 0 ? layer.window : config_.grid();
  const Tensor qkv = reshape(layer.qkv(reshape(x, {windows * count, width})), {windows, count, 3, heads, dim});
  const auto part_of = [&](int64_t part, int64_t head) {
    return reshape(narrow(narrow(qkv, 2, part, 1), 3, head, 1), {windows, count, dim});
  };
  const Tensor rows = between_places(layer.by_row, size), columns = between_places(layer.by_column, size);
  std::vector<Tensor> seen;
  for (int64_t head = 0; head < heads; ++head) {
    seen.push_back(in_scratch([&] {
      const Tensor query = part_of(0, head).contiguous(), placed = reshape(query, {windows, size, size, dim});
      Tensor scores = matmul(mul(query, 1 / std::sqrt(static_cast<double>(dim))), transpose(part_of(1, head), 1, 2));
      // [windows, row, column, key row] and [windows, row, column, key column]
      const Tensor by_row = matmul(placed, transpose(rows, 1, 2));
      const Tensor by_column = transpose(matmul(transpose(placed, 1, 2).contiguous(), transpose(columns, 1, 2)), 1, 2);
      scores =
          add(add(reshape(scores, {windows, size, size, size, size}), unsqueeze(by_row, 4)), unsqueeze(by_column, 3));
      return matmul(softmax(reshape(scores, {windows, count, count}), -1), part_of(2, head));
    }));
  }
  return reshape(layer.out(reshape(concat(seen, 2), {windows * count, width})), {windows, count, width});
}

Tensor SamEncoder::encode(const Tensor& pixels) const {
  const Shape expected{1, 3, config_.side, config_.side};
  if (!pixels.defined() || pixels.dtype() != DType::kF32 || !(pixels.shape() == expected)) {
    throw Error(ErrorCode::kInvalidArgument,
                cat("pixels for a sam are ",
                    pixels.defined() ? cat(pixels.dtype(), " ", pixels.shape()) : std::string("undefined"),
                    ", expected f32 ", expected));
  }
  Arena arena;
  const ArenaScope scope(arena);
  const int64_t grid = config_.grid(), width = config_.width;
  Tensor x = add(patches_(patches_of(pixels.to_device(device_), config_.patch).contiguous()), positions_);
  for (const Layer& layer : layers_) {
    x = in_scratch([&] {
      const Tensor normed = reshape(layer.attn_norm(x), {grid, grid, width});
      const Tensor seen =
          layer.window > 0 ? out_of_windows(attend(layer, in_windows(normed, layer.window)), layer.window, grid, grid)
                           : attend(layer, reshape(normed, {1, grid * grid, width}));
      const Tensor mid = add(x, reshape(seen, {grid * grid, width}));
      return layer.mlp({layer.mlp_norm(mid)}, mid, BatchHooks(), 0);
    });
  }
  const Tensor image = permute(reshape(x, {1, grid, grid, width}), {0, 3, 1, 2}).contiguous();
  Tensor made = norm_channels(first_norm_, conv2d(image, first_conv_));
  Conv2dOptions around;
  around.padding = 1;
  made = norm_channels(second_norm_, conv2d(made, second_conv_, {}, around));
  const ArenaPause keep;
  return reshape(made, {config_.output, grid, grid}).clone();
}

}  // namespace wick
