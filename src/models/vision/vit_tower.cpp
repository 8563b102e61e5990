#include "models/vision/vit_tower.h"

#include "base/error.h"
#include "base/text.h"
#include "models/vision/layer_turns.h"
#include "nn/scratch.h"
#include "ops/binary.h"
#include "ops/rearrange.h"
#include "ops/view.h"
#include "tensor/arena.h"

namespace wick {

VitTower::VitTower(VitConfig config, WeightLoader& loader) : config_(std::move(config)), device_(loader.device()) {
  const ArenaPause keep;
  const VitNames& names = config_.names;
  const int64_t width = config_.width;
  const auto norm = [&](const std::string& name) {
    return name.empty() ? Norm() : loader.norm(name, config_.norm, width, config_.eps, true, true, 0);
  };
  if (config_.flat_patches) {
    patches_ = loader.linear(names.patches, width, config_.patch_values(), config_.patch_bias);
  } else {
    const Tensor weight =
        loader.vector(names.patches + ".weight", {width, config_.channels, config_.patch, config_.patch});
    if (weight.defined()) patches_.weight = reshape(weight, {width, config_.patch_values()});
    if (config_.patch_bias) patches_.bias = loader.vector(names.patches + ".bias", {width});
  }
  const int64_t classes = config_.has_class ? 1 : 0;
  if (config_.has_class) class_ = loader.vector(names.class_token, {1, width});
  if (config_.registers > 0) registers_ = loader.vector(names.registers, {config_.registers, width});
  positions_ = loader.vector(names.positions, {classes + config_.grid.count(), width});
  if (positions_.defined() && config_.has_class) {
    class_ = add(class_, narrow(positions_, 0, 0, 1));
    positions_ = narrow(positions_, 0, 1, config_.grid.count());
  }
  pre_norm_ = norm(names.pre_norm);
  for (int64_t i = 0; i < config_.layers; ++i) layers_.push_back(load_layer(i, loader));
  post_norm_ = norm(names.post_norm);
}

EncoderLayer VitTower::load_layer(int64_t index, WeightLoader& loader) const {
  const VitNames& names = config_.names;
  const int64_t width = config_.width, intermediate = config_.intermediate;
  const std::string prefix = cat(names.layers, index, ".");
  const auto linear = [&](const std::string& name, int64_t outputs, int64_t inputs, bool bias) {
    return loader.linear(prefix + name, outputs, inputs, bias);
  };
  const auto norm = [&](const std::string& name) {
    return loader.norm(prefix + name, config_.norm, width, config_.eps, true, true, 0);
  };
  EncoderLayer layer;
  layer.heads = config_.heads;
  layer.attn_norm = norm(names.attn_norm);
  if (names.qkv.empty()) {
    layer.q = linear(names.q, width, width, config_.qkv_bias);
    layer.k = linear(names.k, width, width, config_.qkv_bias);
    layer.v = linear(names.v, width, width, config_.qkv_bias);
  } else {
    const Linear all = linear(names.qkv, 3 * width, width, config_.qkv_bias);
    layer.q = weight_rows(all, 0, width);
    layer.k = weight_rows(all, width, width);
    layer.v = weight_rows(all, 2 * width, width);
  }
  layer.out = linear(names.out, width, width, true);
  layer.mlp_norm = norm(names.mlp_norm);
  layer.mlp.activation = config_.activation;
  if (names.gate_up.empty()) {
    layer.mlp.up = linear(names.up, intermediate, width, true);
  } else {
    const Linear both = linear(names.gate_up, 2 * intermediate, width, true);
    layer.mlp.gate = weight_rows(both, 0, intermediate);
    layer.mlp.up = weight_rows(both, intermediate, intermediate);
  }
  layer.mlp.down = linear(names.down, width, intermediate, true);
  if (!names.attn_scale.empty()) layer.attn_scale = loader.vector(prefix + names.attn_scale, {width});
  if (!names.mlp_scale.empty()) layer.mlp_scale = loader.vector(prefix + names.mlp_scale, {width});
  return layer;
}

Tensor VitTower::embed(const Tensor& patches, std::span<const GridSize> grids) const {
  const Tensor rows = patches_(patches.to_device(device_).contiguous());
  std::vector<Tensor> parts;
  int64_t row = 0;
  for (const GridSize& grid : grids) {
    if (class_.defined()) parts.push_back(class_);
    if (registers_.defined()) parts.push_back(registers_);
    const Tensor positions =
        grid == config_.grid
            ? positions_
            : resize_grid(positions_.to_device(Device::cpu()), config_.grid, grid, config_.resize).to_device(device_);
    parts.push_back(add(narrow(rows, 0, row, grid.count()), positions));
    row += grid.count();
  }
  return pre_norm_(parts.size() == 1 ? parts.front() : concat(parts, 0));
}

Tensor VitTower::run(const Tensor& patches, std::span<const GridSize> grids, int64_t layers,
                     const SequenceHooks* hooks) const {
  Arena arena;
  const ArenaScope scope(arena);
  std::vector<int64_t> lengths, positions;
  for (const GridSize& grid : grids) {
    lengths.push_back(config_.extra_rows() + grid.count());
    for (int64_t i = 0; i < lengths.back(); ++i) positions.push_back(i);
  }
  BatchHooks watching;
  watching.add(0, positions, hooks);
  EncoderStep step(lengths, &watching);
  Tensor x = in_scratch([&] { return embed(patches, grids); });
  for (int64_t i = 0; i < layers; ++i) {
    x = layers_[static_cast<size_t>(i)](x, step, {}, false, static_cast<int>(i));
    LayerTurns::take();
  }
  const ArenaPause keep;
  return x.clone();
}

std::vector<GridSize> VitTower::grids_of(const Tensor& pixels) const {
  const auto wrong = [&](const std::string& what) {
    return Error(ErrorCode::kInvalidArgument, cat("pixels for a ", config_.family, " are ", what));
  };
  if (!pixels.defined() || pixels.dtype() != DType::kF32 || pixels.rank() != 4 || pixels.numel() == 0) {
    throw wrong("not f32 [pictures, channels, height, width]");
  }
  const GridSize grid{pixels.dim(2) / config_.patch, pixels.dim(3) / config_.patch};
  if (pixels.dim(1) != config_.channels || grid.count() < 1) {
    throw wrong(
        cat(pixels.shape(), ", expected ", config_.channels, " channels and sides of ", config_.patch, " or more"));
  }
  if (!(grid == config_.grid) && config_.resize == GridResize::kNone) {
    throw wrong(cat(pixels.dim(3), " x ", pixels.dim(2), ", this model takes ", config_.grid.columns * config_.patch,
                    " x ", config_.grid.rows * config_.patch));
  }
  return std::vector<GridSize>(static_cast<size_t>(pixels.dim(0)), grid);
}

Tensor VitTower::encode(const Tensor& pixels, const SequenceHooks* hooks) const {
  const std::vector<GridSize> grids = grids_of(pixels);
  // A convolution leaves what is behind the last whole patch out.
  const GridSize grid = grids.front();
  Tensor whole = narrow(pixels, 2, 0, grid.rows * config_.patch);
  whole = narrow(whole, 3, 0, grid.columns * config_.patch);
  return post_norm_(run(patches_of(whole, config_.patch), grids, layers(), hooks));
}

}  // namespace wick
