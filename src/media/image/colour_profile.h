#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "media/image/decoders.h"

namespace wick {

// Colours of an ICC profile to sRGB with littlecms, in the profile's own intent; `name` is for messages. Inks become
// red, green and blue, too. Throws Error(kBadFile) when the profile is damaged or is for another kind of colours.
void convert_to_srgb(std::span<const std::byte> profile, RawPicture& raw, const std::string& name);

// Inks without a profile: each takes away its own colour, black takes away all.
void inks_to_rgb(RawPicture& raw);

}  // namespace wick
