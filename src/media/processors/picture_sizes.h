#pragma once

#include <utility>

#include "media/processors/image_processor.h"

namespace wick {

// All sizes are {height, width}. Each throws Error(kInvalidArgument) for a picture that the rule cannot take.

// What a picture becomes before the middle is cut out of it.
std::pair<int, int> size_by_rule(const ImageProcessorConfig& config, int height, int width);

// Sides are multiples of `factor`, and frames * height * width lies between the bounds. `counts_time` is Qwen3-VL's
// rule for videos.
std::pair<int, int> size_in_budget(int height, int width, int factor, int64_t min_pixels, int64_t max_pixels);
std::pair<int, int> video_size_in_budget(int frames, int height, int width, int factor, int time_factor,
                                         int64_t min_pixels, int64_t max_pixels);

// Idefics3: the longer side is `edge`, the other even; then sides are multiples of a tile.
std::pair<int, int> size_for_splitting(int height, int width, int edge);
std::pair<int, int> size_in_whole_tiles(int height, int width, int tile);

// The grid of min to max tiles, {rows, columns}, whose shape is nearest to the picture's; of those equally near, the
// last that is not more than twice as large as the picture.
std::pair<int, int> nearest_grid(int height, int width, int tile_height, int tile_width, int min_tiles, int max_tiles);

// LLaVA-NeXT: of the resolutions, that which keeps most of the picture and then wastes least; and the size inside it.
std::pair<int, int> best_resolution(int height, int width, const std::vector<std::pair<int, int>>& resolutions);
std::pair<int, int> size_inside(int height, int width, std::pair<int, int> resolution);

}  // namespace wick
