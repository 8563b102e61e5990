#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "media/image/picture.h"

namespace wick {

// The bytes of a PNG file, not compressed: 8 bits of each colour, or of grey.
std::string png_bytes(const Picture& picture);
// `grey` [height, width]. Throws Error(kInvalidArgument) for another number of values.
std::string png_bytes(std::span<const uint8_t> grey, int width, int height);

}  // namespace wick
