#include "speech/qwen3_tts/speaker_encoder.h"

#include <cmath>
#include <numbers>

#include "base/error.h"
#include "base/text.h"
#include "media/mel_filters.h"
#include "ops/binary.h"
#include "ops/layers/conv.h"
#include "ops/layers/matmul.h"
#include "ops/rearrange.h"
#include "ops/reduction.h"
#include "ops/softmax.h"
#include "ops/unary.h"
#include "ops/view.h"
#include "tensor/arena.h"
#include "tensor/create.h"

namespace wick {
namespace {

constexpr int64_t kWindow = 1024, kHop = 256, kPoints = kWindow / 2 + 1;
constexpr int64_t kLeastFrames = 9;  // so that every convolution has something to mirror

// Column k is the real part of point k, column points + k the imaginary one, of a window under Hann's curve.
Tensor fourier_transform() {
  std::vector<float> values(static_cast<size_t>(kWindow * 2 * kPoints));
  for (int64_t n = 0; n < kWindow; ++n) {
    const double hann = 0.5 - 0.5 * std::cos(2 * std::numbers::pi * static_cast<double>(n) / kWindow);
    float* row = values.data() + n * 2 * kPoints;
    for (int64_t k = 0; k < kPoints; ++k) {
      const double angle = 2 * std::numbers::pi * static_cast<double>(k * n % kWindow) / kWindow;
      row[k] = static_cast<float>(hann * std::cos(angle));
      row[kPoints + k] = static_cast<float>(-hann * std::sin(angle));
    }
  }
  return from_vector(values, {kWindow, 2 * kPoints});
}

Tensor filter_matrix(const SpeakerEncoderConfig& config) {
  const auto filters = mel_filters(static_cast<int>(config.bins), config.sample_rate / 2.0, static_cast<int>(kPoints));
  std::vector<float> values(static_cast<size_t>(kPoints * config.bins));
  for (size_t bin = 0; bin < filters.size(); ++bin) {
    for (size_t i = 0; i < filters[bin].weights.size(); ++i) {
      values[(static_cast<size_t>(filters[bin].first) + i) * filters.size() + bin] = filters[bin].weights[i];
    }
  }
  return from_vector(values, {kPoints, config.bins});
}

}  // namespace

SpeakerEncoder::Conv SpeakerEncoder::load_conv(WeightLoader& loader, const std::string& name, int64_t out, int64_t in,
                                               int64_t taps, int64_t dilation) {
  Conv conv;
  conv.weight = loader.vector(name + ".weight", {out, in, taps});
  conv.bias = loader.vector(name + ".bias", {out});
  conv.dilation = dilation;
  return conv;
}

Tensor SpeakerEncoder::Conv::operator()(const Tensor& x) const {
  const int64_t reach = (weight.dim(2) - 1) * dilation / 2;
  Conv1dOptions options;
  options.dilation = dilation;
  return conv1d(reach > 0 ? pad(x, 2, reach, reach, PadMode::kReflect) : x, weight, bias, options);
}

SpeakerEncoder::SpeakerEncoder(const SpeakerEncoderConfig& config, WeightLoader& loader)
    : config_(config), device_(loader.device()) {
  const std::string stem = "speaker_encoder.";
  const int64_t width = config.width, group = width / config.groups;
  first_ = load_conv(loader, stem + "blocks.0.conv", width, config.bins, config.kernels[0], config.dilations[0]);
  for (int64_t i = 1; i <= 3; ++i) {
    const std::string name = cat(stem, "blocks.", i, ".");
    Block block;
    block.first = load_conv(loader, name + "tdnn1.conv", width, width, 1);
    for (int64_t j = 0; j + 1 < config.groups; ++j) {
      block.groups.push_back(load_conv(loader, cat(name, "res2net_block.blocks.", j, ".conv"), group, group,
                                       config.kernels[static_cast<size_t>(i)],
                                       config.dilations[static_cast<size_t>(i)]));
    }
    block.last = load_conv(loader, name + "tdnn2.conv", width, width, 1);
    block.squeeze = load_conv(loader, name + "se_block.conv1", config.squeezed, width, 1);
    block.excite = load_conv(loader, name + "se_block.conv2", width, config.squeezed, 1);
    blocks_.push_back(std::move(block));
  }
  mix_ = load_conv(loader, stem + "mfa.conv", config.mixed, 3 * width, 1);
  attention_in_ = load_conv(loader, stem + "asp.tdnn.conv", config.attention, 3 * config.mixed, 1);
  attention_out_ = load_conv(loader, stem + "asp.conv", config.mixed, config.attention, 1);
  out_ = load_conv(loader, stem + "fc", config.output, 2 * config.mixed, 1);
  if (loader.is_listing()) return;
  const ArenaPause keep;
  transform_ = fourier_transform().to_device(device_);
  filters_ = filter_matrix(config).to_device(device_);
}

Tensor SpeakerEncoder::log_mel(std::span<const float> samples) const {
  const auto count = static_cast<int64_t>(samples.size());
  constexpr int64_t kEdge = (kWindow - kHop) / 2;
  if (count < kLeastFrames * kHop || count <= kEdge) {
    throw Error(ErrorCode::kInvalidArgument,
                cat("a voice of ", count, " samples is too short: at least ", kLeastFrames * kHop, " are needed"));
  }
  const Tensor padded = pad(from_span(samples, {count}), 0, kEdge, kEdge, PadMode::kReflect).to_device(device_);
  const int64_t frames = (padded.dim(0) - kWindow) / kHop + 1;
  Layout layout = padded.layout();  // windows that overlap
  layout.shape = Shape{frames, kWindow};
  layout.strides = {};
  layout.strides[0] = kHop;
  layout.strides[1] = 1;
  const Tensor spectrum = matmul(padded.with_layout(layout), transform_);
  const Tensor power = add(sqr(narrow(spectrum, 1, 0, kPoints)), sqr(narrow(spectrum, 1, kPoints, kPoints)));
  return log(maximum(matmul(sqrt(add(power, 1e-9)), filters_), 1e-5));
}

Tensor SpeakerEncoder::run(const Block& block, const Tensor& x) const {
  const Tensor in = relu(block.first(x));
  const std::vector<Tensor> parts = chunk(in, config_.groups, 1);
  std::vector<Tensor> made = {parts[0]};
  for (size_t i = 1; i < parts.size(); ++i) {
    made.push_back(relu(block.groups[i - 1](i == 1 ? parts[i] : add(parts[i], made.back()))));
  }
  const Tensor mixed = relu(block.last(concat(made, 1)));
  const Tensor squeezed = relu(block.squeeze(mean(mixed, {2}, true)));
  return add(mul(mixed, sigmoid(block.excite(squeezed))), x);
}

Tensor SpeakerEncoder::embed(const Tensor& mel) const {
  Tensor x = relu(first_(unsqueeze(transpose(mel, 0, 1).contiguous(), 0)));
  std::vector<Tensor> outs;
  for (const Block& block : blocks_) {
    x = run(block, x);
    outs.push_back(x);
  }
  const Tensor mixed = relu(mix_(concat(outs, 1)));  // [1, mixed, time]
  const auto deviation = [](const Tensor& centred, const Tensor& weights) {
    return sqrt(maximum(sum(mul(sqr(centred), weights), {2}, true), 1e-12));
  };
  const Tensor even = full(Shape{1, 1, 1}, 1.0 / static_cast<double>(mixed.dim(2)), DType::kF32, device_);
  const Tensor middle = mean(mixed, {2}, true);
  const Tensor spread = deviation(sub(mixed, middle), even);
  const Tensor seen = concat(
      {mixed, broadcast_as(middle, mixed.shape()).contiguous(), broadcast_as(spread, mixed.shape()).contiguous()}, 1);
  const Tensor weights = softmax(attention_out_(tanh(relu(attention_in_(seen)))), 2);
  const Tensor at = sum(mul(mixed, weights), {2}, true);
  const Tensor pooled = concat({at, deviation(sub(mixed, at), weights)}, 1);
  return reshape(out_(pooled), {config_.output});
}

Tensor SpeakerEncoder::operator()(std::span<const float> samples) const { return embed(log_mel(samples)); }

}  // namespace wick
