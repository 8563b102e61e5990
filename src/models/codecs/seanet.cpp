#include "models/codecs/seanet.h"

#include <cmath>

#include "models/codecs/codec_activations.h"
#include "models/config_reader.h"
#include "models/read_count.h"
#include "nn/scratch.h"
#include "ops/binary.h"
#include "ops/rearrange.h"
#include "ops/unary.h"
#include "ops/view.h"
#include "tensor/arena.h"
#include "tensor/create.h"

namespace wick {
namespace {

std::string conv_stem(ConvNames names, const std::string& name, bool transposed) {
  if (names != ConvNames::kMoshi) return name + ".conv.";
  return name + (transposed ? ".convtr.convtr." : ".conv.conv.");
}

// Every slice of v along the first dimension is given the length g.
Tensor normed_weight(const Tensor& lengths, const Tensor& directions) {
  if (!directions.defined()) return {};
  const Device device = directions.device();
  Tensor weight = directions.to_device(Device::cpu()).clone();
  const std::vector<float> wanted = lengths.to_vector<float>();
  const int64_t size = weight.numel() / weight.dim(0);
  auto* values = weight.mutable_data<float>();
  for (size_t i = 0; i < wanted.size(); ++i) {
    float* slice = values + static_cast<int64_t>(i) * size;
    double sum = 0;
    for (int64_t j = 0; j < size; ++j) sum += static_cast<double>(slice[j]) * slice[j];
    const double scale = sum > 0 ? static_cast<double>(wanted[i]) / std::sqrt(sum) : 0;
    for (int64_t j = 0; j < size; ++j) slice[j] = static_cast<float>(slice[j] * scale);
  }
  return weight.to_device(device);
}

StreamConv load_conv(const SeanetConfig& config, WeightLoader& loader, const std::string& name, int64_t in, int64_t out,
                     int64_t taps, int64_t stride = 1, int64_t dilation = 1) {
  const Tensor weight = load_conv_weight(loader, config.names, name, {out, in, taps}, false);
  const Tensor bias = load_conv_bias(loader, config.names, name, out, false);
  return make_stream_conv(weight, bias, in, taps, stride, dilation, config.edge);
}

}  // namespace

int64_t SeanetConfig::hop() const {
  int64_t hop = 1;
  for (const int64_t ratio : ratios) hop *= ratio;
  return hop;
}

SeanetConfig read_seanet_config(const ConfigReader& config) {
  SeanetConfig seanet;
  seanet.channels = config.integer("audio_channels", 1);
  if (seanet.channels < 1 || seanet.channels > 2) {
    throw bad_setting(cat("audio_channels = ", seanet.channels, ", expected 1 or 2"));
  }
  seanet.filters = read_count(config, "num_filters", 4096);
  seanet.hidden = read_count(config, "hidden_size");
  seanet.residual_layers = read_count(config, "num_residual_layers", 16);
  seanet.ratios = config.integers("upsampling_ratios");
  seanet.kernel = read_count(config, "kernel_size", 64);
  seanet.last_kernel = read_count(config, "last_kernel_size", 64);
  seanet.residual_kernel = read_count(config, "residual_kernel_size", 64);
  seanet.dilation_growth = read_count(config, "dilation_growth_rate", 16);
  seanet.compress = read_count(config, "compress", 64);
  seanet.shortcut = config.flag("use_conv_shortcut", false);
  if (seanet.ratios.empty() || seanet.ratios.size() > 8) {
    throw bad_setting(cat("upsampling_ratios has ", seanet.ratios.size(), " numbers, expected 1 to 8"));
  }
  for (const int64_t ratio : seanet.ratios) {
    if (ratio < 1 || ratio > 64) throw bad_setting(cat("upsampling_ratios has ", ratio, ", expected 1 to 64"));
  }
  if (seanet.filters % seanet.compress != 0) {
    throw bad_setting(cat("compress = ", seanet.compress, " does not divide num_filters = ", seanet.filters));
  }
  const std::string mode = config.text("pad_mode", "reflect");
  if (mode != "constant" && mode != "reflect" && mode != "replicate") {
    throw Error(ErrorCode::kUnsupported, cat("config.json: pad_mode '", mode, "' of a codec"));
  }
  seanet.edge = mode == "constant" ? PadMode::kZero : mode == "reflect" ? PadMode::kReflect : PadMode::kReplicate;
  if (config.number("trim_right_ratio", 1) != 1) {
    throw Error(ErrorCode::kUnsupported, "config.json: trim_right_ratio is not 1");
  }
  return seanet;
}

Tensor load_conv_weight(WeightLoader& loader, ConvNames names, const std::string& name, const Shape& shape,
                        bool transposed) {
  const std::string stem = conv_stem(names, name, transposed);
  if (names == ConvNames::kPlain || names == ConvNames::kMoshi) return loader.vector(stem + "weight", shape);
  const bool old = names == ConvNames::kWeightNorm;
  const Tensor lengths =
      loader.vector(stem + (old ? "weight_g" : "parametrizations.weight.original0"), {shape[0], 1, 1});
  const Tensor directions = loader.vector(stem + (old ? "weight_v" : "parametrizations.weight.original1"), shape);
  const ArenaPause keep;
  return normed_weight(lengths, directions);
}

Tensor load_conv_bias(WeightLoader& loader, ConvNames names, const std::string& name, int64_t size, bool transposed) {
  return loader.vector(conv_stem(names, name, transposed) + "bias", {size});
}

void Seanet::add_conv(StreamConv conv) { layers_.push_back({Kind::kConv, {std::move(conv)}, {}, conv_states_++}); }

void Seanet::add_residual(const SeanetConfig& config, WeightLoader& loader, const std::string& prefix, int64_t width,
                          int64_t dilation) {
  const int64_t inner = width / config.compress;
  Layer layer{Kind::kResidual, {}, {}, conv_states_};
  layer.convs.push_back(
      load_conv(config, loader, prefix + ".block.1", width, inner, config.residual_kernel, 1, dilation));
  layer.convs.push_back(load_conv(config, loader, prefix + ".block.3", inner, width, 1));
  if (config.shortcut) layer.convs.push_back(load_conv(config, loader, prefix + ".shortcut", width, width, 1));
  conv_states_ += layer.convs.size() + 1;  // and what is held back
  layers_.push_back(std::move(layer));
}

void Seanet::add_lstm(const SeanetConfig& config, WeightLoader& loader, const std::string& prefix, int64_t width) {
  Layer layer{Kind::kLstm, {}, {}, 0};
  lstm_width_ = width;
  for (int64_t i = 0; i < config.lstm_layers; ++i) {
    const auto part = [&](const char* which) {
      Linear linear;
      linear.weight = loader.vector(cat(prefix, ".lstm.weight_", which, "_l", i), {4 * width, width});
      linear.bias = loader.vector(cat(prefix, ".lstm.bias_", which, "_l", i), {4 * width});
      return linear;
    };
    layer.lstm.push_back({part("ih"), part("hh")});
  }
  lstm_states_ += layer.lstm.size();
  layers_.push_back(std::move(layer));
}

Seanet Seanet::encoder(const SeanetConfig& config, WeightLoader& loader, const std::string& prefix) {
  Seanet net;
  net.device_ = loader.device();
  int64_t width = config.filters, index = 0;
  const auto next = [&] { return cat(prefix, index++); };
  net.add_conv(load_conv(config, loader, next(), config.channels, width, config.kernel));
  for (size_t i = config.ratios.size(); i-- > 0;) {
    int64_t dilation = 1;
    for (int64_t j = 0; j < config.residual_layers; ++j, dilation *= config.dilation_growth) {
      net.add_residual(config, loader, next(), width, dilation);
    }
    net.add_elu();
    ++index;
    net.add_conv(load_conv(config, loader, next(), width, 2 * width, 2 * config.ratios[i], config.ratios[i]));
    width *= 2;
  }
  if (config.lstm_layers > 0) net.add_lstm(config, loader, next(), width);
  net.add_elu();
  ++index;
  net.add_conv(load_conv(config, loader, next(), width, config.hidden, config.last_kernel));
  return net;
}

Seanet Seanet::decoder(const SeanetConfig& config, WeightLoader& loader, const std::string& prefix) {
  Seanet net;
  net.device_ = loader.device();
  int64_t width = config.filters << config.ratios.size(), index = 0;
  const auto next = [&] { return cat(prefix, index++); };
  net.add_conv(load_conv(config, loader, next(), config.hidden, width, config.kernel));
  if (config.lstm_layers > 0) net.add_lstm(config, loader, next(), width);
  for (const int64_t ratio : config.ratios) {
    net.add_elu();
    ++index;
    const std::string name = next();
    const Tensor weight = load_conv_weight(loader, config.names, name, {width, width / 2, 2 * ratio}, true);
    const Tensor bias = load_conv_bias(loader, config.names, name, width / 2, true);
    net.add_conv(make_stream_conv_transpose(weight, bias, width, 2 * ratio, ratio));
    width /= 2;
    int64_t dilation = 1;
    for (int64_t j = 0; j < config.residual_layers; ++j, dilation *= config.dilation_growth) {
      net.add_residual(config, loader, next(), width, dilation);
    }
  }
  net.add_elu();
  ++index;
  net.add_conv(load_conv(config, loader, next(), width, config.channels, config.last_kernel));
  return net;
}

Seanet::State Seanet::new_state() const {
  const ArenaPause keep;
  State state;
  state.convs.resize(conv_states_);
  for (size_t i = 0; i < 2 * lstm_states_; ++i) {
    state.lstm.push_back(zeros({1, lstm_width_}, DType::kF32, device_));
  }
  return state;
}

Tensor Seanet::run_lstm(const Layer& layer, const Tensor& x, State& state) {
  Tensor rows = x;
  const int64_t width = x.dim(1);
  for (size_t i = 0; i < layer.lstm.size(); ++i) {
    const Tensor fed = layer.lstm[i].input(rows);  // [time, 4 * width]
    Tensor hidden = state.lstm[2 * i], cell = state.lstm[2 * i + 1];
    std::vector<Tensor> made;
    for (int64_t t = 0; t < rows.dim(0); ++t) {
      const Tensor gates = layer.lstm[i].hidden(LinearInput{hidden}, narrow(fed, 0, t, 1).contiguous());
      const auto gate = [&](int64_t which) { return narrow(gates, 1, which * width, width); };
      cell = add(mul(sigmoid(gate(1)), cell), mul(sigmoid(gate(0)), tanh(gate(2))));
      hidden = mul(sigmoid(gate(3)), tanh(cell));
      made.push_back(hidden);
    }
    const ArenaPause keep;
    state.lstm[2 * i] = hidden.clone();
    state.lstm[2 * i + 1] = cell.clone();
    rows = concat(made, 0);
  }
  return add(rows, x);
}

Tensor Seanet::run(const Layer& layer, const Tensor& x, State& state, bool ends) const {
  const auto state_of = [&](size_t i) -> StreamConvState& { return state.convs[layer.first_state + i]; };
  switch (layer.kind) {
    case Kind::kElu: return elu(x);
    case Kind::kConv: return layer.convs[0](x, state_of(0), ends);
    case Kind::kLstm: return x.dim(0) == 0 ? x : run_lstm(layer, x, state);
    case Kind::kResidual: break;
  }
  const Tensor inner = layer.convs[0](elu(x), state_of(0), ends);
  const Tensor y = layer.convs[1](elu(inner), state_of(1), ends);
  // A row for a row, but a mirrored beginning is held back until it can be mirrored.
  Tensor& held = state_of(layer.convs.size()).rows;
  Tensor rows = held.defined() ? concat({held, x}, 0) : x;
  const int64_t count = y.dim(0), rest = rows.dim(0) - count;
  held = {};
  if (rest > 0) {
    const ArenaPause keep;
    held = narrow(rows, 0, count, rest).clone();
    rows = narrow(rows, 0, 0, count);
  }
  return add(layer.convs.size() > 2 ? layer.convs[2](rows, state_of(2), ends) : rows, y);
}

Tensor Seanet::operator()(Tensor x, State& state, bool ends) const {
  for (const Layer& layer : layers_) {
    if (x.dim(0) == 0 && !ends) break;
    x = in_scratch([&] { return run(layer, x, state, ends); });
  }
  return x;
}

}  // namespace wick
