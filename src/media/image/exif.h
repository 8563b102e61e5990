#pragma once

#include <cstddef>
#include <span>

#include "media/image/picture.h"

namespace wick {

// How a camera was held, 1 to 8, out of the TIFF structure of EXIF; 1 where it is not said or makes no sense.
int exif_orientation(std::span<const std::byte> tiff);

// Turned and mirrored until it is upright.
void make_upright(Picture& picture, int orientation);

}  // namespace wick
