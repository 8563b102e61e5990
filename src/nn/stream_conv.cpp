#include "nn/stream_conv.h"

#include <algorithm>
#include <vector>

#include "nn/linear.h"
#include "ops/binary.h"
#include "ops/index.h"
#include "ops/layers/matmul.h"
#include "ops/view.h"
#include "tensor/arena.h"
#include "tensor/create.h"

namespace wick {
namespace {

Tensor kept(const Tensor& rows) {
  const ArenaPause keep;
  return rows.clone();
}

Tensor behind(const Tensor& before, const Tensor& x) {
  if (!before.defined() || before.dim(0) == 0) return x.contiguous();
  if (x.dim(0) == 0) return before;
  return concat({before, x}, 0);
}

// The bytes of x [rows, in] as one row per place of the kernel; neighbours overlap.
Tensor windows(const Tensor& x, int64_t count, const StreamConv& conv) {
  Layout layout = x.layout();
  if (conv.dilation == 1) {
    layout.shape = Shape{count, conv.taps * conv.in};
    layout.strides = {};
    layout.strides[0] = conv.stride * conv.in;
    layout.strides[1] = 1;
    return x.with_layout(layout);
  }
  layout.shape = Shape{count, conv.taps, conv.in};
  layout.strides = {};
  layout.strides[0] = conv.stride * conv.in;
  layout.strides[1] = conv.dilation * conv.in;
  layout.strides[2] = 1;
  return reshape(x.with_layout(layout).contiguous(), {count, conv.taps * conv.in});
}

}  // namespace

Tensor StreamConv::operator()(const Tensor& x, StreamConvState& state, bool ends) const {
  Tensor rows = behind(state.rows, x);
  state.seen += x.dim(0);
  const int64_t pad_rows = reach() - stride;
  const int64_t out = weight.dim(0) / spread;
  const int64_t extra = ends ? (stride - state.seen % stride) % stride : 0;
  const bool short_of_mirror = edge == PadMode::kReflect && rows.dim(0) <= pad_rows;
  if (!state.begun && pad_rows > 0 && (rows.dim(0) == 0 || (short_of_mirror && !ends))) {
    state.rows = kept(rows);
    return empty({0, out}, DType::kF32, rows.device());
  }
  if (!state.begun && pad_rows > 0 && short_of_mirror) {  // zeros make it long enough for a mirror, and go again
    const int64_t zeros = pad_rows - rows.dim(0) + 1, padded = pad_rows + rows.dim(0) + extra;
    rows = narrow(pad(pad(rows, 0, 0, zeros), 0, pad_rows, extra, edge), 0, 0, padded).contiguous();
  } else {
    if (!state.begun && pad_rows > 0) rows = pad(rows, 0, pad_rows, 0, edge);
    if (extra > 0 && rows.dim(0) > 0) rows = pad(rows, 0, 0, extra, edge);
  }
  state.begun = true;
  const int64_t count = rows.dim(0) < reach() ? 0 : (rows.dim(0) - reach()) / stride + 1;
  if (count == 0) {
    state.rows = kept(rows);
    return empty({0, out}, DType::kF32, rows.device());
  }
  const Tensor seen = windows(rows, count, *this);
  Tensor y = matmul(seen, transpose(weight, 0, 1));
  if (bias.defined()) y = add(y, bias);
  const int64_t used = count * stride;
  state.rows = used < rows.dim(0) ? kept(narrow(rows, 0, used, rows.dim(0) - used)) : Tensor();
  return spread == 1 ? y : reshape(y, {count * spread, out});
}

StreamConv make_stream_conv(const Tensor& weight, const Tensor& bias, int64_t in, int64_t taps, int64_t stride,
                            int64_t dilation, PadMode edge) {
  StreamConv conv;
  conv.in = in;
  conv.taps = taps;
  conv.stride = stride;
  conv.dilation = dilation;
  conv.edge = edge;
  conv.bias = bias;
  if (!weight.defined()) return conv;
  const ArenaPause keep;
  conv.weight = reshape(permute(weight, {0, 2, 1}).contiguous(), {weight.dim(0), taps * in});
  return conv;
}

StreamConv make_stream_conv_transpose(const Tensor& weight, const Tensor& bias, int64_t in, int64_t taps,
                                      int64_t stride) {
  StreamConv conv;
  conv.in = in;
  conv.taps = (taps + stride - 1) / stride;
  conv.spread = stride;
  if (!weight.defined()) return conv;
  const ArenaPause keep;
  const int64_t out = weight.dim(1);
  // Tap j + i * stride of the kernel belongs to result j and the row i before the newest.
  const Tensor whole = pad(weight, 2, 0, conv.taps * stride - taps);
  const Tensor parts = flip(reshape(whole, {in, out, conv.taps, stride}), {2});
  conv.weight = reshape(permute(parts, {3, 1, 2, 0}).contiguous(), {stride * out, conv.taps * in});
  if (bias.defined()) conv.bias = concat(std::vector<Tensor>(static_cast<size_t>(stride), bias), 0);
  return conv;
}

Tensor StreamDepthwiseTranspose::operator()(const Tensor& x, StreamConvState& state) const {
  const int64_t count = x.dim(0), before = weight.dim(0) - 1;
  if (count == 0) return x;
  const Tensor rows = behind(state.begun ? state.rows : zeros({before, channels}, DType::kF32, x.device()), x);
  state.begun = true;
  Tensor y;
  for (int64_t i = 0; i <= before; ++i) {
    const Tensor part = mul(unsqueeze(narrow(rows, 0, i, count), 1), narrow(weight, 0, i, 1));
    y = y.defined() ? add(y, part) : part;
  }
  if (before > 0) state.rows = kept(narrow(rows, 0, count, before));
  return reshape(y, {count * stride, channels});
}

StreamDepthwiseTranspose make_depthwise_transpose(const Tensor& weight, int64_t channels, int64_t taps,
                                                  int64_t stride) {
  StreamDepthwiseTranspose conv;
  conv.channels = channels;
  conv.stride = stride;
  if (!weight.defined()) return conv;
  const ArenaPause keep;
  const int64_t rows = (taps + stride - 1) / stride;
  const Tensor whole = pad(reshape(weight, {channels, taps}), 1, 0, rows * stride - taps);
  conv.weight = permute(flip(reshape(whole, {channels, rows, stride}), {1}), {1, 2, 0}).contiguous();
  return conv;
}

}  // namespace wick
