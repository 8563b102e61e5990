#include "speech/lfm2_audio/fast_conformer.h"

#include <cmath>
#include <numbers>

#include "base/error.h"
#include "base/text.h"
#include "media/mel_filters.h"
#include "models/read_count.h"
#include "nn/scratch.h"
#include "ops/binary.h"
#include "ops/layers/conv.h"
#include "ops/layers/matmul.h"
#include "ops/rearrange.h"
#include "ops/unary.h"
#include "ops/view.h"
#include "tensor/arena.h"
#include "tensor/create.h"

namespace wick {
namespace {

constexpr int64_t kFft = 512, kWindow = 400, kHop = 160, kPoints = kFft / 2 + 1;
constexpr int kRate = 16000, kStages = 3;
constexpr double kPreEmphasis = 0.97, kFloor = 0x1p-24, kSpread = 1e-5;

// Column k is the real part of point k, column points + k the imaginary one, of 512 samples under a window in their
// middle.
const Tensor& fourier_transform() {
  static const Tensor table = [] {
    const ArenaPause keep;
    std::vector<float> values(static_cast<size_t>(kFft * 2 * kPoints));
    for (int64_t i = 0; i < kWindow; ++i) {
      const double hann = 0.5 - 0.5 * std::cos(2 * std::numbers::pi * static_cast<double>(i) / (kWindow - 1));
      const int64_t n = i + (kFft - kWindow) / 2;
      float* row = values.data() + n * 2 * kPoints;
      for (int64_t k = 0; k < kPoints; ++k) {
        const double angle = 2 * std::numbers::pi * static_cast<double>(k * n % kFft) / kFft;
        row[k] = static_cast<float>(hann * std::cos(angle));
        row[kPoints + k] = static_cast<float>(-hann * std::sin(angle));
      }
    }
    return from_vector(values, {kFft, 2 * kPoints});
  }();
  return table;
}

void expect(const ConfigReader& config, std::string_view name, std::string_view value) {
  const std::string given = config.text(name, value);
  if (given == value) return;
  throw Error(ErrorCode::kUnsupported, cat("config.json: ", name, " = '", given, "', expected '", value, "'"));
}

}  // namespace

Tensor nemo_log_mel(std::span<const float> samples, int64_t bins) {
  const auto count = static_cast<int64_t>(samples.size());
  const int64_t sounding = count / kHop, frames = sounding + 1;
  if (sounding < 2) {
    throw Error(ErrorCode::kInvalidArgument,
                cat("sound of ", count, " samples is too short: at least ", 2 * kHop, " are needed"));
  }
  std::vector<float> padded(static_cast<size_t>(count + kFft));  // half a window of silence on each side
  for (int64_t i = 0; i < count; ++i) {
    const double before = i > 0 ? kPreEmphasis * static_cast<double>(samples[static_cast<size_t>(i - 1)]) : 0;
    padded[static_cast<size_t>(i + kFft / 2)] =
        static_cast<float>(static_cast<double>(samples[static_cast<size_t>(i)]) - before);
  }
  const Tensor sound = from_vector(padded, {count + kFft});
  Layout layout = sound.layout();
  layout.shape = Shape{frames, kFft};
  layout.strides = {};
  layout.strides[0] = kHop;
  layout.strides[1] = 1;
  const Tensor spectrum = matmul(sound.with_layout(layout), fourier_transform());
  const Tensor power =
      add(sqr(narrow(spectrum, 1, 0, kPoints)), sqr(narrow(spectrum, 1, kPoints, kPoints))).contiguous();
  const auto filters = mel_filters(static_cast<int>(bins), kRate / 2.0, static_cast<int>(kPoints));
  Tensor mel = zeros({frames, bins});
  auto* out = mel.mutable_data<float>();
  const float* in = power.data<float>();
  for (int64_t bin = 0; bin < bins; ++bin) {
    const MelFilter& filter = filters[static_cast<size_t>(bin)];
    double total = 0;
    for (int64_t frame = 0; frame < sounding; ++frame) {
      double sum = 0;
      for (size_t i = 0; i < filter.weights.size(); ++i) {
        sum += static_cast<double>(filter.weights[i]) *
               static_cast<double>(in[frame * kPoints + filter.first + static_cast<int64_t>(i)]);
      }
      const double value = std::log(sum + kFloor);
      out[frame * bins + bin] = static_cast<float>(value);
      total += value;
    }
    const double mean = total / static_cast<double>(sounding);
    double squares = 0;
    for (int64_t frame = 0; frame < sounding; ++frame)
      squares += std::pow(static_cast<double>(out[frame * bins + bin]) - mean, 2);
    const double spread = std::sqrt(squares / static_cast<double>(sounding - 1)) + kSpread;
    for (int64_t frame = 0; frame < sounding; ++frame) {
      float& value = out[frame * bins + bin];
      value = static_cast<float>((static_cast<double>(value) - mean) / spread);
    }
  }
  return mel;
}

FastConformerConfig read_fast_conformer_config(const ConfigReader& config, const std::string& prefix) {
  FastConformerConfig made;
  made.prefix = prefix;
  expect(config, "subsampling", "dw_striding");
  expect(config, "self_attention_model", "rel_pos");
  expect(config, "conv_norm_type", "batch_norm");
  if (config.integer("subsampling_factor", 8) != 8 || config.flag("causal_downsampling", false) ||
      config.flag("xscaling", false) || !config.flag("untie_biases", true)) {
    throw Error(ErrorCode::kUnsupported,
                "config.json: subsampling_factor, causal_downsampling, xscaling or untie_biases of an encoder that is "
                "not read");
  }
  for (const int64_t size : config.integers("att_context_size")) {
    if (size != -1)
      throw Error(ErrorCode::kUnsupported, cat("config.json: att_context_size has ", size, ", expected -1"));
  }
  made.bins = read_count(config, "feat_in", 512);
  made.channels = read_count(config, "subsampling_conv_channels", 4096);
  made.layers = read_count(config, "n_layers", 256);
  ConformerConfig& layer = made.layer;
  layer.width = read_count(config, "d_model");
  layer.heads = read_count(config, "n_heads", 1024);
  layer.intermediate = layer.width * read_count(config, "ff_expansion_factor", 64);
  layer.kernel = read_count(config, "conv_kernel_size", 255);
  layer.conv_bias = true;
  use_nemo_names(layer);
  if (layer.width % layer.heads != 0 || layer.width % 2 != 0 || layer.kernel % 2 == 0) {
    throw bad_setting(cat("d_model = ", layer.width, ", n_heads = ", layer.heads,
                          " and conv_kernel_size = ", layer.kernel, " do not fit each other"));
  }
  return made;
}

FastConformer::FastConformer(const FastConformerConfig& config, WeightLoader& loader)
    : config_(config), device_(loader.device()) {
  const std::string stem = config.prefix + "pre_encode.";
  const int64_t channels = config.channels;
  int64_t index = 0, bins = config.bins;
  for (int i = 0; i < kStages; ++i) {
    Stage stage;
    stage.depth = loader.vector(cat(stem, "conv.", index, ".weight"), {channels, 1, 3, 3});
    stage.depth_bias = loader.vector(cat(stem, "conv.", index, ".bias"), {channels});
    index += i == 0 ? 2 : 1;  // an activation behind each stage counts
    if (i > 0) {
      stage.mix = loader.vector(cat(stem, "conv.", index, ".weight"), {channels, channels, 1, 1});
      stage.mix_bias = loader.vector(cat(stem, "conv.", index, ".bias"), {channels});
      index += 2;
    }
    stages_.push_back(std::move(stage));
    bins = (bins + 1) / 2;
  }
  in_ = loader.linear(stem + "out", config.layer.width, channels * bins, true);
  for (int64_t i = 0; i < config.layers; ++i) {
    layers_.emplace_back(config.layer, cat(config.prefix, "layers.", i, "."), loader, device_);
  }
}

Tensor FastConformer::subsample(const Tensor& mel) const {
  Tensor x = reshape(mel.to_device(device_), {1, 1, mel.dim(0), mel.dim(1)});
  for (const Stage& stage : stages_) {
    Conv2dOptions options;
    options.stride = 2;
    options.padding = 1;
    options.groups = x.dim(1);
    x = in_scratch([&] {
      Tensor y = conv2d(x, stage.depth, stage.depth_bias, options);
      if (stage.mix.defined()) y = conv2d(y, stage.mix, stage.mix_bias);
      return relu(y);
    });
  }
  const int64_t rows = x.dim(2);
  return in_(reshape(permute(x, {0, 2, 1, 3}).contiguous(), {rows, -1}));
}

Tensor FastConformer::operator()(const Tensor& mel) const {
  Tensor x = in_scratch([&] { return subsample(mel); });
  const ConformerPlaces places = conformer_places(config_.layer, x.dim(0), device_);
  for (const ConformerLayer& layer : layers_) x = layer(x, places);
  return x;
}

}  // namespace wick
