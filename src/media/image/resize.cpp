#include "media/image/resize.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "media/image/resize_kernel.h"
#include "media/image/resize_weights.h"

namespace wick {
namespace {

Picture unset_picture(int width, int height) {
  Picture out;
  out.width = width;
  out.height = height;
  out.rgb.resize(static_cast<size_t>(width) * static_cast<size_t>(height) * 3);
  return out;
}

// The pixel whose centre is nearest. Pillow adds up where it is, torch multiplies floats.
std::vector<int> nearest(int size, int new_size, ResizeArithmetic arithmetic) {
  std::vector<int> out(static_cast<size_t>(new_size));
  const double scale = static_cast<double>(size) / new_size;
  const float float_scale = static_cast<float>(size) / static_cast<float>(new_size);
  double position = scale * 0.5;
  for (int i = 0; i < new_size; ++i, position += scale) {
    const bool adds = arithmetic == ResizeArithmetic::kPillow;
    const int at = static_cast<int>(adds ? position : std::floor((static_cast<float>(i) + 0.5f) * float_scale));
    out[static_cast<size_t>(i)] = std::min(size - 1, at);
  }
  return out;
}

Picture resize_nearest(const Picture& picture, int width, int height, ResizeArithmetic arithmetic) {
  Picture out = unset_picture(width, height);
  const std::vector<int> columns = nearest(picture.width, width, arithmetic);
  const std::vector<int> rows = nearest(picture.height, height, arithmetic);
  for (int y = 0; y < height; ++y) {
    uint8_t* to = out.row(y);
    const uint8_t* from = picture.row(rows[static_cast<size_t>(y)]);
    for (const int x : columns) to = std::copy_n(from + static_cast<ptrdiff_t>(x) * 3, 3, to);
  }
  return out;
}

// Rows are turned on their side, so that what is summed lies in rows again: kRowsAtOnce bytes per column and channel.
Picture resize_width(const Picture& picture, int width, const ResizeWeights& weights, bool narrow) {
  Picture out = unset_picture(width, picture.height);
  constexpr ptrdiff_t kPixel = 3 * kRowsAtOnce;
  std::vector<uint8_t> from(static_cast<size_t>(picture.width) * kPixel), to(static_cast<size_t>(width) * kPixel);
  for (int y = 0; y < picture.height; y += kRowsAtOnce) {
    const int rows = std::min(kRowsAtOnce, picture.height - y);
    transpose_bytes(picture.row(y), static_cast<ptrdiff_t>(picture.width) * 3, rows, picture.width * 3, from.data(),
                    kRowsAtOnce);
    for (int x = 0; x < width; ++x) {
      const auto i = static_cast<size_t>(x);
      weighted_rows(from.data() + weights.begin[i] * kPixel, kPixel, weights.at(x), weights.taps[i], weights.precision,
                    narrow, kPixel, to.data() + x * kPixel);
    }
    transpose_bytes(to.data(), kRowsAtOnce, width * 3, rows, out.row(y), static_cast<ptrdiff_t>(width) * 3);
  }
  return out;
}

Picture resize_height(const Picture& picture, int height, const ResizeWeights& weights, bool narrow) {
  Picture out = unset_picture(picture.width, height);
  const ptrdiff_t stride = static_cast<ptrdiff_t>(picture.width) * 3;
  for (int y = 0; y < height; ++y) {
    const auto i = static_cast<size_t>(y);
    weighted_rows(picture.row(weights.begin[i]), stride, weights.at(y), weights.taps[i], weights.precision, narrow,
                  static_cast<size_t>(stride), out.row(y));
  }
  return out;
}

}  // namespace

Picture resize(const Picture& picture, int width, int height, ResizeFilter filter, ResizeArithmetic arithmetic) {
  if (width < 1 || height < 1 || picture.width < 1 || picture.height < 1) {
    throw Error(ErrorCode::kInvalidArgument, cat("a picture of ", picture.width, " x ", picture.height,
                                                 " cannot become one of ", width, " x ", height));
  }
  if (filter == ResizeFilter::kNearest) return resize_nearest(picture, width, height, arithmetic);
  const bool narrow = arithmetic == ResizeArithmetic::kTorchvision;
  Picture out;
  const Picture* from = &picture;
  if (width != picture.width) {
    out = resize_width(*from, width, resize_weights(picture.width, width, filter, arithmetic), narrow);
    from = &out;
  }
  if (height != picture.height) {
    out = resize_height(*from, height, resize_weights(picture.height, height, filter, arithmetic), narrow);
    from = &out;
  }
  return from == &picture ? picture : out;
}

std::vector<float> resize_planes(std::span<const float> planes, int channels, int height, int width, int new_height,
                                 int new_width, ResizeFilter filter) {
  if (filter != ResizeFilter::kBilinear && filter != ResizeFilter::kBicubic) {
    throw Error(ErrorCode::kInvalidArgument, "numbers are resized with the bilinear or the bicubic filter only");
  }
  const auto old_width = static_cast<size_t>(width), wanted_width = static_cast<size_t>(new_width);
  const auto all_rows = static_cast<size_t>(channels) * static_cast<size_t>(height);
  if (planes.size() != all_rows * old_width || new_width < 1 || new_height < 1) {
    throw Error(ErrorCode::kInvalidArgument,
                cat(planes.size(), " numbers are not ", channels, " planes of ", width, " x ", height));
  }
  std::vector<float> rows(planes.begin(), planes.end());
  if (new_width != width) {
    const FloatResizeWeights weights = float_resize_weights(width, new_width, filter);
    rows.assign(all_rows * wanted_width, 0);
    for (size_t row = 0; row < all_rows; ++row) {
      for (size_t x = 0; x < wanted_width; ++x) {
        const float* from = planes.data() + row * old_width + weights.begin[x];
        const float* weight = weights.weights.data() + x * static_cast<size_t>(weights.stride);
        float sum = 0;
        for (int k = 0; k < weights.taps[x]; ++k) sum += from[k] * weight[k];
        rows[row * wanted_width + x] = sum;
      }
    }
  }
  if (new_height == height) return rows;
  const FloatResizeWeights weights = float_resize_weights(height, new_height, filter);
  std::vector<float> out(static_cast<size_t>(channels) * static_cast<size_t>(new_height) * wanted_width, 0);
  for (int channel = 0; channel < channels; ++channel) {
    for (int y = 0; y < new_height; ++y) {
      const auto i = static_cast<size_t>(y);
      float* to = out.data() + (static_cast<size_t>(channel) * static_cast<size_t>(new_height) + i) * wanted_width;
      for (int k = 0; k < weights.taps[i]; ++k) {
        const float weight = weights.weights[i * static_cast<size_t>(weights.stride) + static_cast<size_t>(k)];
        const float* from = rows.data() + (static_cast<size_t>(channel) * static_cast<size_t>(height) +
                                           static_cast<size_t>(weights.begin[i] + k)) *
                                              wanted_width;
        for (size_t x = 0; x < wanted_width; ++x) to[x] += from[x] * weight;
      }
    }
  }
  return out;
}

}  // namespace wick
