#pragma once

#include <vector>

#include "media/processors/image_processor.h"

namespace wick {

// What the tower sees of a picture, each in its final size except for what is cut around the centre, in the order of
// PixelValues; fills in the grid of tiles and the size.
std::vector<Picture> cut_into_tiles(const ImageProcessorConfig& config, const Picture& picture, PixelValues& out);

// The middle; where the picture is smaller, black is put around it first.
Picture centre_crop(const Picture& picture, int height, int width);
// Into the middle of a plain picture of that size.
Picture pad_around(const Picture& picture, int height, int width, const std::array<uint8_t, 3>& colour);

}  // namespace wick
