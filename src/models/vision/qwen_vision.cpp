#include "models/vision/qwen_vision.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "models/read_count.h"
#include "models/vision/layer_turns.h"
#include "nn/scratch.h"
#include "ops/binary.h"
#include "ops/index.h"
#include "ops/rearrange.h"
#include "ops/unary.h"
#include "ops/view.h"
#include "tensor/arena.h"
#include "tensor/create.h"

namespace wick {
namespace {

constexpr float kEpsilon = 1e-6f;  // no config says otherwise

// Windows of attention over joined patches: the order that puts each window's together, and how many patches each has.
struct Windows {
  std::vector<int64_t> order;
  std::vector<int64_t> lengths;
};

Windows windows_of(int64_t frames, GridSize joined, int64_t side, int64_t patches_each) {
  Windows windows;
  for (int64_t frame = 0; frame < frames; ++frame) {
    for (int64_t top = 0; top < joined.rows; top += side) {
      for (int64_t left = 0; left < joined.columns; left += side) {
        const size_t before = windows.order.size();
        for (int64_t row = top; row < std::min(top + side, joined.rows); ++row) {
          for (int64_t column = left; column < std::min(left + side, joined.columns); ++column) {
            windows.order.push_back((frame * joined.rows + row) * joined.columns + column);
          }
        }
        windows.lengths.push_back(static_cast<int64_t>(windows.order.size() - before) * patches_each);
      }
    }
  }
  return windows;
}

// Rows [blocks * each, ...] with their blocks in another order.
Tensor reorder(const Tensor& rows, const std::vector<int64_t>& order, int64_t each) {
  const Tensor index = from_vector(order, {std::ssize(order)}).to_device(rows.device());
  return reshape(index_select(reshape(rows, {std::ssize(order), each * rows.dim(1)}), 0, index), rows.shape());
}

}  // namespace

QwenVisionConfig read_qwen_vision_config(const ConfigReader& config, std::string_view family, int64_t hidden) {
  QwenVisionConfig vision;
  vision.family = family;
  vision.windowed = family == "qwen2_5_vl";
  vision.channels = config.has("in_channels") ? read_count(config, "in_channels", 64) : 3;
  vision.patch = read_count(config, "patch_size", 256);
  vision.frames = config.has("temporal_patch_size") ? read_count(config, "temporal_patch_size", 64) : 2;
  vision.join = config.has("spatial_merge_size") ? read_count(config, "spatial_merge_size", 16) : 2;
  vision.layers = read_count(config, "depth", 4096);
  vision.width = read_count(config, "hidden_size");
  vision.heads = read_count(config, "num_heads");
  vision.intermediate = read_count(config, "intermediate_size");
  vision.output = read_count(config, "out_hidden_size");
  vision.activation = activation_named(config.text("hidden_act", vision.windowed ? "silu" : "gelu_pytorch_tanh"));
  vision.theta = config.number("rope_theta", 10000);
  if (!(vision.theta > 1 && vision.theta < 1e15)) throw bad_setting(cat("rope_theta = ", vision.theta));
  if (vision.width % vision.heads != 0 || vision.width / vision.heads % 4 != 0) {
    throw bad_setting(cat("heads of hidden_size = ", vision.width, " / num_heads = ", vision.heads,
                          " do not turn by rows and columns"));
  }
  if (vision.output != hidden) {
    throw bad_setting(cat("out_hidden_size = ", vision.output, ", expected the text's hidden_size, ", hidden));
  }
  const auto check_layers = [&](std::vector<int64_t> layers, const char* name) {
    for (const int64_t layer : layers) {
      if (layer < 0 || layer >= vision.layers)
        throw bad_setting(cat(name, " names layer ", layer, " of ", vision.layers));
    }
    return layers;
  };
  if (vision.windowed) {
    if (vision.activation != Activation::kSilu) {
      throw Error(ErrorCode::kUnsupported, cat("config.json: hidden_act is '", to_string(vision.activation),
                                               "'; Wick knows 'silu' of the vision part of a '", family, "'"));
    }
    vision.window = read_count(config, "window_size", 1 << 14) / vision.join / vision.patch;
    if (vision.window < 1) throw bad_setting("window_size is smaller than a joined patch");
    vision.full_layers = check_layers(config.integers("fullatt_block_indexes"), "fullatt_block_indexes");
    return vision;
  }
  const int64_t places = read_count(config, "num_position_embeddings", 1 << 20);
  vision.grid = static_cast<int64_t>(std::sqrt(static_cast<double>(places)) + 0.5);
  if (vision.grid * vision.grid != places) {
    throw bad_setting(cat("num_position_embeddings = ", places, " is not a square"));
  }
  vision.deep = check_layers(config.integers("deepstack_visual_indexes"), "deepstack_visual_indexes");
  if (!std::is_sorted(vision.deep.begin(), vision.deep.end())) throw bad_setting("deepstack_visual_indexes fall");
  return vision;
}

QwenVision::QwenVision(const QwenVisionConfig& config, const PictureTokens& tokens, WeightLoader& loader)
    : config_(config), device_(loader.device()) {
  const ArenaPause keep;
  facts_.family = config_.family;
  facts_.tokens = tokens;
  facts_.takes_patches = true;
  facts_.channels = config_.channels;
  facts_.patch_side = config_.patch;
  facts_.join = config_.join;
  facts_.frames_joined = config_.frames;
  facts_.values = config_.patch_values();
  const std::string& prefix = config_.prefix;
  const Tensor weight = loader.vector(prefix + "patch_embed.proj.weight",
                                      {config_.width, config_.channels, config_.frames, config_.patch, config_.patch});
  if (weight.defined()) patches_.weight = reshape(weight, {config_.width, config_.patch_values()});
  if (!config_.windowed) {
    patches_.bias = loader.vector(prefix + "patch_embed.proj.bias", {config_.width});
    positions_ = loader.vector(prefix + "pos_embed.weight", {config_.grid * config_.grid, config_.width});
  }
  for (int64_t i = 0; i < config_.layers; ++i) layers_.push_back(load_layer(i, loader));
  merger_ = load_merger(prefix + "merger.", false, loader);
  for (size_t i = 0; i < config_.deep.size(); ++i) {
    deep_mergers_.push_back(load_merger(cat(prefix, "deepstack_merger_list.", i, "."), true, loader));
  }
}

EncoderLayer QwenVision::load_layer(int64_t index, WeightLoader& loader) const {
  const std::string prefix = cat(config_.prefix, "blocks.", index, ".");
  const int64_t width = config_.width, intermediate = config_.intermediate;
  const auto norm = [&](const char* name) {
    return loader.norm(prefix + name, config_.windowed ? NormKind::kRms : NormKind::kLayer, width, kEpsilon, true, true,
                       0);
  };
  EncoderLayer layer;
  layer.heads = config_.heads;
  layer.attn_norm = norm("norm1");
  const Linear all = loader.linear(prefix + "attn.qkv", 3 * width, width, true);
  layer.q = weight_rows(all, 0, width);
  layer.k = weight_rows(all, width, width);
  layer.v = weight_rows(all, 2 * width, width);
  layer.out = loader.linear(prefix + "attn.proj", width, width, true);
  layer.mlp_norm = norm("norm2");
  layer.mlp.activation = config_.activation;
  if (config_.windowed) {
    layer.mlp.gate = loader.linear(prefix + "mlp.gate_proj", intermediate, width, true);
    layer.mlp.up = loader.linear(prefix + "mlp.up_proj", intermediate, width, true);
    layer.mlp.down = loader.linear(prefix + "mlp.down_proj", width, intermediate, true);
  } else {
    layer.mlp.up = loader.linear(prefix + "mlp.linear_fc1", intermediate, width, true);
    layer.mlp.down = loader.linear(prefix + "mlp.linear_fc2", width, intermediate, true);
  }
  return layer;
}

QwenVision::Merger QwenVision::load_merger(const std::string& name, bool norms_joined, WeightLoader& loader) const {
  Merger merger;
  const int64_t joined = config_.joined_width();
  merger.norms_joined = norms_joined;
  merger.norm =
      loader.norm(name + (config_.windowed ? "ln_q" : "norm"), config_.windowed ? NormKind::kRms : NormKind::kLayer,
                  norms_joined ? joined : config_.width, kEpsilon, true, true, 0);
  merger.in = loader.linear(name + (config_.windowed ? "mlp.0" : "linear_fc1"), joined, joined, true);
  merger.out = loader.linear(name + (config_.windowed ? "mlp.2" : "linear_fc2"), config_.output, joined, true);
  return merger;
}

Tensor QwenVision::Merger::operator()(const Tensor& rows, int64_t joined_width) const {
  return in_scratch([&] {
    const Tensor normed =
        norms_joined ? norm(reshape(rows, {-1, joined_width})) : reshape(norm(rows), {-1, joined_width});
    return out(gelu(in(normed)));
  });
}

int64_t QwenVision::rows_of(const VisionInput& input) const {
  check(input);
  return input.values.dim(0) / (config_.join * config_.join);
}

RopeRows QwenVision::angles(const VisionInput& input) const {
  const GridSize grid{input.rows, input.columns};
  const Tensor order = block_order(grid, config_.join);
  const int64_t pairs = config_.width / config_.heads / 2, half = pairs / 2, count = input.values.dim(0);
  std::vector<double> frequencies;
  for (int64_t i = 0; i < half; ++i) {
    frequencies.push_back(std::pow(config_.theta, -static_cast<double>(i) / static_cast<double>(half)));
  }
  RopeRows rows{empty({count, pairs}), empty({count, pairs})};
  float* cos = rows.cos.mutable_data<float>();
  float* sin = rows.sin.mutable_data<float>();
  for (int64_t i = 0; i < count; ++i) {
    const int64_t place = order.data<int64_t>()[i % grid.count()];
    for (int64_t pair = 0; pair < pairs; ++pair) {
      const int64_t position = pair < half ? place / grid.columns : place % grid.columns;
      const double angle = static_cast<double>(position) * frequencies[static_cast<size_t>(pair % half)];
      *cos++ = static_cast<float>(std::cos(angle));
      *sin++ = static_cast<float>(std::sin(angle));
    }
  }
  return {rows.cos.to_device(device_), rows.sin.to_device(device_)};
}

// The table of positions at each patch, in the order of blocks; the same in every frame.
Tensor QwenVision::positions(const VisionInput& input) const {
  const GridSize grid{input.rows, input.columns};
  const Tensor table = resize_grid(positions_.to_device(Device::cpu()), {config_.grid, config_.grid}, grid,
                                   GridResize::kBilinearCorners);
  const Tensor frame = index_select(table, 0, block_order(grid, config_.join));
  const std::vector<Tensor> all(static_cast<size_t>(input.frames), frame);
  return (all.size() == 1 ? frame : concat(all, 0)).to_device(device_);
}

QwenVision::Layers QwenVision::run(const VisionInput& input) const {
  check(input);
  Arena arena;
  const ArenaScope scope(arena);
  const int64_t each = config_.join * config_.join;
  const GridSize joined{input.rows / config_.join, input.columns / config_.join};
  Tensor x = patches_(input.values.to_device(device_).contiguous());
  if (positions_.defined()) x = add(x, positions(input));
  RopeRows rope = angles(input);
  const std::vector<int64_t> frames(static_cast<size_t>(input.frames), input.rows * input.columns);
  Windows windows;
  if (config_.windowed) {
    windows = windows_of(input.frames, joined, config_.window, each);
    x = reorder(x, windows.order, each);
    rope = {reorder(rope.cos, windows.order, each), reorder(rope.sin, windows.order, each)};
  }
  EncoderStep whole(frames), windowed(windows.lengths);
  Layers made;
  for (int64_t i = 0; i < config_.layers; ++i) {
    const auto& full = config_.full_layers;
    const bool in_windows = config_.windowed && std::find(full.begin(), full.end(), i) == full.end();
    x = layers_[static_cast<size_t>(i)](x, in_windows ? windowed : whole, rope, false, static_cast<int>(i));
    LayerTurns::take();
    for (size_t level = 0; level < config_.deep.size(); ++level) {
      if (config_.deep[level] != i) continue;
      const Tensor rows = deep_mergers_[level](x, config_.joined_width());
      const ArenaPause keep;
      made.deep.push_back(rows.clone());
    }
  }
  Tensor rows = merger_(x, config_.joined_width());
  if (config_.windowed) {
    std::vector<int64_t> back(windows.order.size());
    for (size_t i = 0; i < back.size(); ++i) back[static_cast<size_t>(windows.order[i])] = static_cast<int64_t>(i);
    rows = reorder(rows, back, 1);
  }
  const ArenaPause keep;
  made.last = x.clone();
  made.rows = rows.clone();
  return made;
}

InputEmbeddings QwenVision::encode(const VisionInput& input) const {
  Layers made = run(input);
  InputEmbeddings seen;
  seen.rows = std::move(made.rows);
  seen.deep = std::move(made.deep);
  seen.grid = {input.frames, input.rows / config_.join, input.columns / config_.join};
  return seen;
}

}  // namespace wick
