#include <algorithm>
#include <cmath>

#include "base/checked.h"
#include "graph/operators/float_maps.h"
#include "graph/operators/window.h"
#include "ops/binary.h"
#include "ops/check.h"
#include "ops/layers/conv.h"
#include "ops/rearrange.h"
#include "ops/unary.h"
#include "ops/view.h"

namespace wick::graph {
namespace {

std::vector<int64_t> kernel_of(const Tensor& weight) {
  if (weight.rank() < 3) throw Error(ErrorCode::kShape, cat("weight ", weight.shape(), " has no kernel"));
  return {weight.shape().begin() + 2, weight.shape().end()};
}

void conv_op(OpRun& run) {
  const Tensor &x = run.tensor(0), &weight = run.tensor(1);
  if (x.rank() != weight.rank()) throw Error(ErrorCode::kShape, cat("x ", x.shape(), " and weight ", weight.shape()));
  const Window window = window_of(run, x.shape(), kernel_of(weight));
  Tensor out = convolve(x, weight, run.tensor_or_none(2), window, run.get("group", int64_t{1}));
  if (run.has(3)) out = add(out, run.tensor(3));             // com.microsoft: a residual
  const std::string activation = run.get("activation", "");  // what was fused with it
  if (!activation.empty()) {
    out = out.to_dtype(DType::kF32).contiguous();
    activate_in_place(out, activation, run.floats("activation_params"));
  }
  run.set(0, store(out, run.type(0)));
}

// Whole numbers below 2^8 in f32, whose sums are exact while there are few enough of them.
Tensor centred(OpRun& run, int input, int zero, int channel_dim) {
  Tensor x = run.tensor(input).to_dtype(DType::kF32);
  if (!run.has(zero)) return x;
  Tensor zeros = run.tensor(zero).to_dtype(DType::kF32);
  if (zeros.numel() == 1) return sub(x, zeros.item());
  while (zeros.rank() < x.rank() - channel_dim) zeros = unsqueeze(zeros, -1);
  return sub(x, zeros);
}

void conv_integer_op(OpRun& run) {
  const Tensor &x = run.tensor(0), &weight = run.tensor(1);
  if (x.rank() != weight.rank()) throw Error(ErrorCode::kShape, cat("x ", x.shape(), " and weight ", weight.shape()));
  const Window window = window_of(run, x.shape(), kernel_of(weight));
  const Tensor out = convolve(centred(run, 0, 2, 1).to_dtype(DType::kF64), centred(run, 1, 3, 0).to_dtype(DType::kF64),
                              {}, window, run.get("group", int64_t{1}));
  run.set(0, out.to_dtype(DType::kI32));
}

// The transpose without pads, in plain loops: three dimensions.
Tensor transpose_loops(const Tensor& x, const Tensor& weight, const Window& w, const std::array<int64_t, 3>& full,
                       int64_t groups) {
  const Floats image(x), kernel(weight);
  const int64_t batch = x.dim(0), in = x.dim(1), per_group = weight.dim(1), out_channels = per_group * groups,
                volume = full[0] * full[1] * full[2], taps = w.kernel_count();
  const Tensor out = zeros({batch, out_channels, full[0], full[1], full[2]});
  float* to = out.mutable_data<float>();
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t c = 0; c < in; ++c) {
      for (int64_t o = 0; o < per_group; ++o) {
        float* plane = to + (b * out_channels + c / (in / groups) * per_group + o) * volume;
        for (int64_t at = 0; at < w.in_count(); ++at) {
          const int64_t z = at / (w.size[1] * w.size[2]), y = at / w.size[2] % w.size[1], i = at % w.size[2];
          const float value = image[(b * in + c) * w.in_count() + at];
          for (int64_t tap = 0; tap < taps; ++tap) {
            const int64_t kz = tap / (w.kernel[1] * w.kernel[2]), ky = tap / w.kernel[2] % w.kernel[1],
                          ki = tap % w.kernel[2];
            plane[((z * w.stride[0] + kz * w.dilation[0]) * full[1] + y * w.stride[1] + ky * w.dilation[1]) * full[2] +
                  i * w.stride[2] + ki * w.dilation[2]] += value * kernel[(c * per_group + o) * taps + tap];
          }
        }
      }
    }
  }
  return out;
}

void conv_transpose_op(OpRun& run) {
  const Tensor &x = run.tensor(0), &weight = run.tensor(1);
  const Tensor bias = run.tensor_or_none(2);
  const int spatial = x.rank() - 2;
  const int64_t groups = run.get("group", int64_t{1});
  if (spatial < 1 || spatial > 3 || weight.rank() != x.rank())
    throw Error(ErrorCode::kShape, cat("x ", x.shape(), " and weight ", weight.shape()));
  if (groups < 1 || x.dim(1) != weight.dim(0) || x.dim(1) % groups != 0)
    throw Error(ErrorCode::kShape,
                cat("x ", x.shape(), ", weight ", weight.shape(), " and ", groups, " groups do not fit"));
  const auto list = [&](const char* name, int64_t otherwise, int count) {
    auto values = run.ints(name);
    if (values.empty()) values.assign(static_cast<size_t>(count), otherwise);
    if (std::ssize(values) != count) throw Error(ErrorCode::kShape, cat(values.size(), " ", name, " for ", x.shape()));
    for (const int64_t value : values) {
      if (value < 0 || value >= int64_t{1} << 31) throw bad_input(cat(name, " has ", value));
    }
    return values;
  };
  const auto strides = list("strides", 1, spatial), dilations = list("dilations", 1, spatial),
             more = list("output_padding", 0, spatial);
  auto pads = list("pads", 0, 2 * spatial);
  const auto wanted = run.ints("output_shape");
  const std::string automatic = run.get("auto_pad", "NOTSET");
  Window w;
  w.spatial = spatial;
  std::array<int64_t, 3> full{1, 1, 1};
  std::vector<int64_t> sizes;
  for (int i = 0; i < spatial; ++i) {
    const int d = 3 - spatial + i;
    w.size[d] = x.dim(2 + i), w.kernel[d] = weight.dim(2 + i), w.stride[d] = strides[i], w.dilation[d] = dilations[i];
    if (w.stride[d] < 1 || w.dilation[d] < 1 || w.kernel[d] < 1)
      throw bad_input("strides, dilations and kernel must be at least 1");
    const auto whole = conv_transpose_size(w.size[d], w.kernel[d], w.stride[d], 0, 0, w.dilation[d]);
    if (!whole || *whole >= int64_t{1} << 40) throw Error(ErrorCode::kShape, "the output is too large");
    full[d] = *whole;
    const bool same = automatic == "SAME_UPPER" || automatic == "SAME_LOWER";
    if (!wanted.empty() || same) {
      const size_t at = wanted.size() == static_cast<size_t>(spatial) ? i : i + 2;
      if (!wanted.empty() && at >= wanted.size()) throw Error(ErrorCode::kShape, "output_shape has another rank");
      if (!wanted.empty() && (wanted[at] < 1 || wanted[at] >= int64_t{1} << 40)) {
        throw Error(ErrorCode::kShape, cat("output_shape has ", wanted[at]));
      }
      const int64_t size = wanted.empty() ? w.size[d] * w.stride[d] : wanted[at];
      const int64_t total = std::max<int64_t>(full[d] + more[i] - size, 0);
      // What is left over goes to the end, or with SAME_UPPER to the begin.
      pads[i] = automatic == "SAME_UPPER" ? total / 2 : total - total / 2;
      if (automatic != "SAME_UPPER" && automatic != "SAME_LOWER") pads[i] = total - total / 2;
      if (automatic == "SAME_LOWER") pads[i] = total - total / 2;
      pads[i + spatial] = total - pads[i];
      sizes.push_back(size);
      continue;
    }
    sizes.push_back(full[d] + more[i] - pads[i] - pads[i + spatial]);
    if (sizes.back() < 1) throw Error(ErrorCode::kShape, cat("pads leave nothing of dimension ", i + 2));
  }
  Tensor out;
  if (spatial == 3) {
    out = transpose_loops(x, weight, w, full, groups).to_dtype(x.dtype());
  } else {
    const bool flat = spatial == 1;
    out = conv_transpose2d(flat ? unsqueeze(x, 2) : x, flat ? unsqueeze(weight, 2) : weight, {},
                           {{w.stride[1], w.stride[2]}, 0, 0, {w.dilation[1], w.dilation[2]}, groups});
    if (flat) out = squeeze(out, 2);
  }
  for (int i = 0; i < spatial; ++i) {
    const int64_t missing = pads[i] + sizes[i] - out.dim(2 + i);
    if (missing > 0) out = pad(out, 2 + i, 0, missing);
    out = narrow(out, 2 + i, pads[i], sizes[i]);
  }
  if (bias.defined()) {
    Tensor column = bias;
    if (bias.shape() != Shape{out.dim(1)})
      throw Error(ErrorCode::kShape, cat("bias ", bias.shape(), " for ", out.dim(1), " channels"));
    for (int i = 0; i < spatial; ++i) column = unsqueeze(column, -1);
    out = add(out, column);
  }
  run.set(0, out.contiguous());
}

// Columns of windows back to an image: what stands at one place is added up.
void col2im_op(OpRun& run) {
  const Floats x(run.tensor(0));
  const auto image = run.ints(1), block = run.ints(2);
  const auto n = image.size();
  if (x.shape().rank() != 3 || n < 1 || n > 3 || block.size() != n)
    throw Error(ErrorCode::kShape, cat("x ", x.shape(), " for an image of ", n, " dimensions"));
  const auto list = [&](const char* name, int64_t otherwise, size_t count) {
    auto values = run.ints(name);
    if (values.empty()) values.assign(count, otherwise);
    if (values.size() != count) throw Error(ErrorCode::kShape, cat(values.size(), " ", name));
    return values;
  };
  const auto strides = list("strides", 1, n), dilations = list("dilations", 1, n), pads = list("pads", 0, 2 * n);
  Window w;
  w.spatial = static_cast<int>(n);
  std::vector<int64_t> sizes{x.shape()[0], 0};
  for (size_t i = 0; i < n; ++i) {
    const size_t d = 3 - n + i;
    w.size[d] = image[i], w.kernel[d] = block[i], w.stride[d] = strides[i], w.dilation[d] = dilations[i];
    w.before[d] = pads[i], w.after[d] = pads[n + i];
    if (std::min({image[i], block[i], strides[i], dilations[i]}) < 1 || std::min(pads[i], pads[n + i]) < 0 ||
        std::max({image[i], block[i], strides[i], dilations[i], pads[i], pads[n + i]}) >= int64_t{1} << 31) {
      throw bad_input("sizes of image, block, strides, dilations or pads");
    }
    const int64_t room = image[i] + pads[i] + pads[n + i] - (dilations[i] * (block[i] - 1) + 1);
    if (room < 0) throw Error(ErrorCode::kShape, "the block does not fit into the image");
    w.out[d] = room / strides[i] + 1;
    sizes.push_back(image[i]);
  }
  static_cast<void>(Shape{w.kernel[0], w.kernel[1], w.kernel[2]});  // throw when they are too large to count
  static_cast<void>(Shape{w.out[0], w.out[1], w.out[2]});
  const int64_t taps = w.kernel_count(), places = w.out_count();
  if (x.shape()[1] % taps != 0 || x.shape()[2] != places)
    throw Error(ErrorCode::kShape, cat("x ", x.shape(), " for blocks of ", taps, " at ", places, " places"));
  const int64_t channels = x.shape()[1] / taps;
  sizes[1] = channels;
  const Tensor out = zeros(shape_of(sizes));
  float* to = out.mutable_data<float>();
  for (int64_t row = 0; row < x.shape()[0] * channels * taps; ++row) {
    const int64_t tap = row % taps, kd = tap / (w.kernel[1] * w.kernel[2]), kh = tap / w.kernel[2] % w.kernel[1],
                  kw = tap % w.kernel[2];
    float* plane = to + row / taps * w.in_count();
    for (int64_t place = 0; place < places; ++place) {
      const int64_t z = place / (w.out[1] * w.out[2]) * w.stride[0] + kd * w.dilation[0] - w.before[0],
                    y = place / w.out[2] % w.out[1] * w.stride[1] + kh * w.dilation[1] - w.before[1],
                    i = place % w.out[2] * w.stride[2] + kw * w.dilation[2] - w.before[2];
      if (z < 0 || z >= w.size[0] || y < 0 || y >= w.size[1] || i < 0 || i >= w.size[2]) continue;
      plane[(z * w.size[1] + y) * w.size[2] + i] += x[row * places + place];
    }
  }
  run.set(0, store(out, run.type(0)));
}

// A convolution whose taps move: offsets [batch, offset_group * taps * 2, oh, ow], two dimensions.
void deform_conv_op(OpRun& run) {
  const Floats x(run.tensor(0)), weight(run.tensor(1)), offset(run.tensor(2));
  if (x.shape().rank() != 4 || weight.shape().rank() != 4)
    throw not_offered(cat("x is ", x.shape(), "; Wick has two dimensions here"));
  const Window w = window_of(run, x.shape(), kernel_of(run.tensor(1)));
  const int64_t batch = x.shape()[0], in = x.shape()[1], out_channels = weight.shape()[0], taps = w.kernel_count(),
                places = w.out_count(), groups = run.get("group", int64_t{1}),
                offset_groups = run.get("offset_group", int64_t{1});
  if (groups < 1 || offset_groups < 1 || in % groups || in % offset_groups || out_channels % groups ||
      weight.shape()[1] != in / groups ||
      offset.shape() != Shape{batch, offset_groups * taps * 2, w.out[1], w.out[2]}) {
    throw Error(ErrorCode::kShape,
                cat("x ", x.shape(), ", weight ", weight.shape(), " and offsets ", offset.shape(), " do not fit"));
  }
  const Floats mask(run.has(4) ? run.tensor(4) : ones({batch, offset_groups * taps, w.out[1], w.out[2]}));
  if (mask.shape() != Shape{batch, offset_groups * taps, w.out[1], w.out[2]})
    throw Error(ErrorCode::kShape, cat("mask ", mask.shape()));
  const Floats bias(run.has(3) ? run.tensor(3) : zeros({out_channels}));
  if (bias.size() != out_channels) throw Error(ErrorCode::kShape, cat("bias ", bias.shape()));
  const Tensor out = empty({batch, out_channels, w.out[1], w.out[2]});
  const auto pixel = [&](int64_t plane, int64_t h, int64_t i) {
    return h < 0 || h >= w.size[1] || i < 0 || i >= w.size[2] ? 0.0f : x[(plane * w.size[1] + h) * w.size[2] + i];
  };
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t o = 0; o < out_channels; ++o) {
      for (int64_t place = 0; place < places; ++place) {
        const int64_t oh = place / w.out[2], ow = place % w.out[2];
        double total = bias[o];
        for (int64_t c = 0; c < in / groups; ++c) {
          const int64_t channel = o / (out_channels / groups) * (in / groups) + c, set = channel / (in / offset_groups);
          for (int64_t tap = 0; tap < taps; ++tap) {
            const int64_t at = (b * offset_groups + set) * taps + tap;
            const float h = static_cast<float>(oh * w.stride[1] + tap / w.kernel[2] * w.dilation[1] - w.before[1]) +
                            offset[at * 2 * places + place];
            const float i = static_cast<float>(ow * w.stride[2] + tap % w.kernel[2] * w.dilation[2] - w.before[2]) +
                            offset[(at * 2 + 1) * places + place];
            if (!(h > -1 && i > -1 && h < static_cast<float>(w.size[1]) && i < static_cast<float>(w.size[2]))) continue;
            const auto h0 = static_cast<int64_t>(std::floor(h)), i0 = static_cast<int64_t>(std::floor(i));
            const double fh = h - static_cast<float>(h0), fi = i - static_cast<float>(i0);
            const int64_t plane = b * in + channel;
            const double value = (1 - fh) * ((1 - fi) * pixel(plane, h0, i0) + fi * pixel(plane, h0, i0 + 1)) +
                                 fh * ((1 - fi) * pixel(plane, h0 + 1, i0) + fi * pixel(plane, h0 + 1, i0 + 1));
            total += value * mask[at * places + place] * weight[(o * (in / groups) + c) * taps + tap];
          }
        }
        out.mutable_data<float>()[(b * out_channels + o) * places + place] = static_cast<float>(total);
      }
    }
  }
  run.set(0, store(out, run.type(0)));
}

constexpr Operator kOperators[] = {
    {"Col2Im", col2im_op, "dilations pads strides"},
    {"Conv", conv_op, "auto_pad dilations group kernel_shape pads strides activation activation_params"},
    {"ConvInteger", conv_integer_op, "auto_pad dilations group kernel_shape pads strides"},
    {"ConvTranspose", conv_transpose_op,
     "auto_pad dilations group kernel_shape output_padding output_shape pads strides"},
    {"DeformConv", deform_conv_op, "dilations group kernel_shape offset_group pads strides"},
};

}  // namespace

Operators convolution_operators() { return kOperators; }

}  // namespace wick::graph
