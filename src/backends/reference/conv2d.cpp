#include <vector>

#include "backends/reference/kernels.h"
#include "backends/reference/walk.h"

namespace wick::reference {
namespace {

struct Tap {
  int64_t batch, out_channel, in_channel, oh, ow, ih, iw, kh, kw;  // in_channel counts within its group
};

// Calls body for every product that conv2d sums up: image x weight -> output.
template <typename Body>
void for_each_tap(const Shape& image, const Shape& weight, const Shape& out, const Conv2dParams& p, const Body& body) {
  const int64_t outs_per_group = weight[0] / p.groups;
  for_each_index(out, [&](const Index& o) {
    const int64_t group = o[1] / outs_per_group;
    for_each_index({weight[1], weight[2], weight[3]}, [&](const Index& w) {
      const int64_t ih = o[2] * p.stride_h + w[1] * p.dilation_h - p.padding_h;
      const int64_t iw = o[3] * p.stride_w + w[2] * p.dilation_w - p.padding_w;
      if (ih < 0 || iw < 0 || ih >= image[2] || iw >= image[3]) return;
      body(Tap{o[0], o[1], group * weight[1] + w[0], o[2], o[3], ih, iw, w[1], w[2]}, w[0]);
    });
  });
}

void fill_bias(const Tensor& bias, std::vector<double>& totals, const Tensor& out) {
  if (!bias.defined()) return;
  for_each_index(out.shape(), [&](const Index& i) { totals[offset_of(out, i)] = FloatView(bias).get({i[1]}); });
}

void store(const std::vector<double>& totals, const Tensor& out) {
  const FloatView to(out);
  for_each_index(out.shape(), [&](const Index& i) { to.set(i, totals[offset_of(out, i)]); });
}

}  // namespace

void conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv2dParams& params, const Tensor& out) {
  const FloatView image(x), kernel(weight);
  std::vector<double> totals(out.numel(), 0);
  fill_bias(bias, totals, out);
  for_each_tap(x.shape(), weight.shape(), out.shape(), params, [&](const Tap& t, int64_t c) {
    totals[offset_of(out, {t.batch, t.out_channel, t.oh, t.ow})] +=
        image.get({t.batch, t.in_channel, t.ih, t.iw}) * kernel.get({t.out_channel, c, t.kh, t.kw});
  });
  store(totals, out);
}

// Runs conv2d's products backwards: its output is x here, its image is out.
void conv_transpose2d(const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv2dParams& params,
                      const Tensor& out) {
  const FloatView from(x), kernel(weight);
  std::vector<double> totals(out.numel(), 0);
  fill_bias(bias, totals, out);
  for_each_tap(out.shape(), weight.shape(), x.shape(), params, [&](const Tap& t, int64_t c) {
    totals[offset_of(out, {t.batch, t.in_channel, t.ih, t.iw})] +=
        from.get({t.batch, t.out_channel, t.oh, t.ow}) * kernel.get({t.out_channel, c, t.kh, t.kw});
  });
  store(totals, out);
}

void conv2d_weight_grad(const Tensor& x, const Tensor& grad, const Conv2dParams& params, const Tensor& out) {
  const FloatView image(x), slope(grad);
  std::vector<double> totals(out.numel(), 0);
  for_each_tap(x.shape(), out.shape(), grad.shape(), params, [&](const Tap& t, int64_t c) {
    totals[offset_of(out, {t.out_channel, c, t.kh, t.kw})] +=
        image.get({t.batch, t.in_channel, t.ih, t.iw}) * slope.get({t.batch, t.out_channel, t.oh, t.ow});
  });
  store(totals, out);
}

}  // namespace wick::reference
