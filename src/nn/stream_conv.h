#pragma once

#include <cstdint>

#include "ops/rearrange.h"
#include "tensor/tensor.h"

namespace wick {

// What a convolution carries from piece to piece: rows that later outputs still see.
struct StreamConvState {
  Tensor rows;         // [carried, in]; undefined: none
  int64_t seen = 0;    // rows that have come
  bool begun = false;  // the padding before the first row is among `rows`
};

// A causal convolution over rows of time [time, in], which may come in pieces: how they are cut changes no bit. Before
// the first row stand `taps` rows less the stride, made as `edge` says; at the end as many as fill a stride. Each row
// of the result may be several behind each other, which is how a transposed convolution is one.
struct StreamConv {
  Tensor weight;  // f32 [out * spread, taps * in]
  Tensor bias;    // f32 [out * spread]; undefined: none
  int64_t in = 0, taps = 1, stride = 1, dilation = 1;
  int64_t spread = 1;  // rows of the result for each place of the kernel
  PadMode edge = PadMode::kZero;

  // [rows, in] to [rows made, out]; `ends`: no rows come behind these.
  Tensor operator()(const Tensor& x, StreamConvState& state, bool ends) const;
  int64_t reach() const { return (taps - 1) * dilation + 1; }  // rows that a place of the kernel covers
};

// Of a weight [out, in, taps] as PyTorch keeps it, on the weight's device. Undefined weights stay so.
StreamConv make_stream_conv(const Tensor& weight, const Tensor& bias, int64_t in, int64_t taps, int64_t stride = 1,
                            int64_t dilation = 1, PadMode edge = PadMode::kZero);
// Of a transposed convolution's weight [in, out, taps], whose last taps less stride results are left out.
StreamConv make_stream_conv_transpose(const Tensor& weight, const Tensor& bias, int64_t in, int64_t taps,
                                      int64_t stride);

// The same with one filter per channel: weight [channels, 1, taps].
struct StreamDepthwiseTranspose {
  Tensor weight;  // f32 [taps / stride, stride, channels], the newest row's part last
  int64_t channels = 0, stride = 1;

  Tensor operator()(const Tensor& x, StreamConvState& state) const;
};
StreamDepthwiseTranspose make_depthwise_transpose(const Tensor& weight, int64_t channels, int64_t taps, int64_t stride);

}  // namespace wick
