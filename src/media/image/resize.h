#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "media/image/picture.h"

namespace wick {

// The numbers are Pillow's, which files of models use: "resample": 3.
enum class ResizeFilter { kNearest = 0, kLanczos = 1, kBilinear = 2, kBicubic = 3, kBox = 4, kHamming = 5 };

// Both widen the filter where a picture becomes smaller and round to bytes between the two passes. Pillow's weights
// have 22 bits behind the point; torchvision's have what fits 16 bits.
enum class ResizeArithmetic { kPillow, kTorchvision };

// Byte for byte what Pillow's Image.resize or torchvision's resize of bytes with antialiasing gives. Sizes are at
// least 1.
Picture resize(const Picture& picture, int width, int height, ResizeFilter filter,
               ResizeArithmetic arithmetic = ResizeArithmetic::kPillow);

// [channels, height, width] of f32, as torch's interpolate with antialiasing gives: bilinear or bicubic.
std::vector<float> resize_planes(std::span<const float> planes, int channels, int height, int width, int new_height,
                                 int new_width, ResizeFilter filter);

}  // namespace wick
