#include "backends/cpu/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/conv/conv2d.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "backends/cpu/conv/conv_depthwise-inl.h"
#include "backends/cpu/conv/conv_gemm-inl.h"
#include "backends/cpu/conv/conv_pack-inl.h"

HWY_BEFORE_NAMESPACE();
namespace wick::HWY_NAMESPACE {
namespace {

// Depth of the panel that stays in the first-level cache: whole channels of about this many products.
constexpr int64_t kPanelDepth = 128;
// Panels that share a block of weights in the second-level cache.
constexpr int64_t kMostPanels = 6;
// What packing a panel costs, in rows of the product; a task has at least kLeastRows of those where rows are cut.
constexpr int64_t kPackingRows = 16, kLeastRows = 32;

template <typename T>
struct ConvJob {
  ConvGeometry geometry;
  ConvImage<T> image;
  const T* weight;  // [groups, group_out, group_in, taps]
  const T* bias;    // [groups, group_out] or null
  int64_t groups, group_in, group_out;
  const Tensor* out;
};

// Output channels [row, row + rows) of one group over output pixels [first, first + count) of one image.
template <typename T>
void ConvBlock(const ConvJob<T>& job, int64_t batch, int64_t group, int64_t row, int64_t rows, int64_t first,
               int64_t count) {
  const int64_t lanes = hn::Lanes(hn::ScalableTag<T>());
  const int64_t width = kConvVectors * lanes, taps = job.geometry.taps(), pixels = job.geometry.pixels();
  const int64_t block_channels = std::clamp<int64_t>(kPanelDepth / taps, 1, std::max<int64_t>(1, job.group_in));
  const int64_t depth = job.group_in * taps, channel = group * job.group_out + row;
  thread_local cpu::Scratch panel_memory, sum_memory;
  T* panel = panel_memory.get<T>(block_channels * taps * width);

  // Sums grow in the output itself where a tile is whole vectors of its type, else in rows of `width` beside it.
  const int64_t at = (batch * job.groups * job.group_out + channel) * pixels + first;
  const bool narrow = job.out->dtype() != dtype_of<T>();
  const int64_t in_place = narrow ? 0 : count / lanes * lanes,
                beside = round_up(count, width) - in_place / width * width;
  T* sums = sum_memory.get<T>(rows * beside);
  const int64_t group_in = std::max<int64_t>(1, job.group_in);  // no input channels: one empty block writes the bias
  for (int64_t c = 0; c < group_in; c += block_channels) {
    const int64_t channels = std::min(block_channels, job.group_in - c);
    const GemmWeights<T> weights{job.weight + channel * depth + c * taps, depth, 1};
    GemmOut<T> out{nullptr, 0, job.bias ? job.bias + channel : nullptr, c == 0};
    for (int64_t p = 0; p < count; p += width) {
      const int64_t tile = std::min(width, count - p);
      PackPanel(job.image, job.geometry, job.image.plane(batch, group * job.group_in + c), channels, first + p, tile,
                panel, width);
      const bool fits = p + tile <= in_place;
      out.data = fits ? reinterpret_cast<T*>(job.out->raw()) + at + p : sums + (narrow ? p : 0);
      out.stride = fits ? pixels : beside;
      GemmPanel(weights, rows, panel, width, channels * taps, ceil_div(tile, lanes), out);
    }
  }
  const int64_t written = narrow ? 0 : in_place == count ? count : count / width * width;
  for (int64_t r = 0; r < rows && written < count; ++r) {
    StoreRow(sums + r * beside, count - written, *job.out, at + r * pixels + written);
  }
}

// How the work is cut: `rows` output channels, in whole register tiles, by `panels` panels per task.
struct ConvCut {
  int64_t rows, panels;
};

// The cut that keeps the threads evenly loaded; among equals the one whose tasks share most. Changes no result.
ConvCut CutConv(int64_t images, int64_t group_out, int64_t panels) {
  const int64_t threads = ThreadPool::instance().size();
  ConvCut best{};
  int64_t best_cost = 0;
  for (int64_t splits = 1; splits <= 2 * threads; ++splits) {
    const int64_t rows = round_up(ceil_div(group_out, splits), kGemmRows), row_blocks = ceil_div(group_out, rows);
    if (splits > 1 && rows < kLeastRows) break;
    for (int64_t n = std::min(kMostPanels, panels); n > 0; --n) {
      const int64_t rounds = ceil_div(ceil_div(panels, n) * images * row_blocks, threads);
      const int64_t cost = rounds * n * (rows + kPackingRows);
      if (best.rows == 0 || cost < best_cost) best = {rows, n}, best_cost = cost;
    }
  }
  return best;
}

template <typename T>
void ConvAll(const ConvJob<T>& job) {
  const int64_t width = kConvVectors * hn::Lanes(hn::ScalableTag<T>());
  const int64_t images = job.out->dim(0) * job.groups, pixels = job.geometry.pixels();
  const ConvCut cut = CutConv(images, job.group_out, ceil_div(pixels, width));
  const int64_t rows = cut.rows, row_blocks = ceil_div(job.group_out, rows), block = width * cut.panels;
  const int64_t blocks = ceil_div(pixels, block);
  parallel_for(images * row_blocks * blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t first = task % blocks * block, row = task / blocks % row_blocks * rows;
      const int64_t image = task / blocks / row_blocks;
      ConvBlock(job, image / job.groups, image % job.groups, row, std::min(rows, job.group_out - row), first,
                std::min(block, pixels - first));
    }
  });
}

template <typename T>
void Conv2dAs(const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv2dParams& params,
              const Tensor& out) {
  thread_local cpu::Scratch image_memory, weight_memory, bias_memory;
  ConvJob<T> job;
  job.geometry = {params, weight.dim(2), weight.dim(3), out.dim(2), out.dim(3)};
  job.image = StageImage<T>(x, params.stride_w, image_memory);
  job.weight = StageContiguous<T>(weight, weight_memory);
  job.bias = StageContiguous<T>(bias, bias_memory);
  job.groups = params.groups;
  job.group_in = weight.dim(1);
  job.group_out = weight.dim(0) / params.groups;
  job.out = &out;
  if (job.group_in == 1 && params.groups > 1) {
    const DepthwiseRows rows = PlanDepthwise<T>(job.geometry);
    if (rows.fits(x.dim(3), out.dim(3))) {
      return ConvDepthwise(job.geometry, job.image, rows, job.weight, job.bias, job.group_out, out);
    }
  }
  ConvAll(job);
}

}  // namespace

void Conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv2dParams& params, const Tensor& out) {
  if (ComputesInF64(x, weight, out)) {
    Conv2dAs<double>(x, weight, bias, params, out);
  } else {
    Conv2dAs<float>(x, weight, bias, params, out);
  }
}

}  // namespace wick::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wick {
HWY_EXPORT(Conv2d);
namespace cpu {

void conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv2dParams& params, const Tensor& out) {
  if (out.numel() > 0) HWY_DYNAMIC_DISPATCH(Conv2d)(x, weight, bias, params, out);
}

}  // namespace cpu
}  // namespace wick
#endif
