#pragma once

#include <string_view>

namespace wick {

// How many times smaller deflate (as zlib does it) makes a text, within a few per cent: repetition shows as a large
// number. 0 for an empty text.
double compression_ratio(std::string_view text);

}  // namespace wick
