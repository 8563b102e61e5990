#include "media/processors/picture_sizes.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/text.h"

namespace wick {
namespace {

constexpr int64_t kMostPixels = int64_t{1} << 27;
constexpr double kLongest = 200;  // times as long as wide
constexpr int kMostOfASplitPicture = 4096;

std::pair<int, int> checked(double height, double width, int old_height, int old_width) {
  if (!(height >= 1) || !(width >= 1) || height * width > static_cast<double>(kMostPixels)) {
    throw Error(ErrorCode::kInvalidArgument, cat("a picture of ", old_width, " x ", old_height, " would become one of ",
                                                 std::floor(width), " x ", std::floor(height), " for this model"));
  }
  return {static_cast<int>(height), static_cast<int>(width)};
}

void check_shape(int height, int width) {
  const double ratio = static_cast<double>(std::max(height, width)) / std::min(height, width);
  if (ratio <= kLongest) return;
  throw Error(ErrorCode::kInvalidArgument, cat("a picture of ", width, " x ", height, " is more than ", kLongest,
                                               " times as long as wide, which this model does not take"));
}

// Half goes to the even neighbour, as in Python.
double rounded(double value) { return std::nearbyint(value); }

std::pair<int, int> shortest_edge(int height, int width, int edge) {
  const double longer =
      std::floor(static_cast<double>(int64_t{edge} * std::max(height, width)) / std::min(height, width));
  return width <= height ? checked(longer, edge, height, width) : checked(edge, longer, height, width);
}

std::pair<int, int> longest_edge(int height, int width, int edge) {
  const double scale = edge * 1.0 / std::max(height, width);
  return checked(std::floor(height * scale + 0.5), std::floor(width * scale + 0.5), height, width);
}

std::pair<int, int> inside(int height, int width, int edge, int factor) {
  const double ratio = std::max(static_cast<double>(height) / edge, static_cast<double>(width) / edge);
  int64_t new_height = height, new_width = width;
  if (ratio > 1) {
    new_height = std::max<int64_t>(1, static_cast<int64_t>(std::floor(height / ratio)));
    new_width = std::max<int64_t>(1, static_cast<int64_t>(std::floor(width / ratio)));
  }
  const auto whole = [&](int64_t side) { return static_cast<double>(((side - 1) / factor + 1) * factor); };
  return checked(whole(new_height), whole(new_width), height, width);
}

// SigLIP 2 looks for the scale by halving.
std::pair<int, int> most_patches(int height, int width, int patch, int64_t max_patches) {
  const auto scaled = [&](double scale, int side) {
    return std::max<double>(patch, std::ceil(side * scale / patch) * patch);
  };
  constexpr double kNear = 1e-5;
  double low = kNear / 10, high = 100;
  while (high - low >= kNear) {
    const double scale = (low + high) / 2;
    const double patches = (scaled(scale, height) / patch) * (scaled(scale, width) / patch);
    (patches <= static_cast<double>(max_patches) ? low : high) = scale;
  }
  const auto size = checked(scaled(low, height), scaled(low, width), height, width);
  if (int64_t{size.first / patch} * (size.second / patch) > max_patches) {
    throw Error(ErrorCode::kInvalidArgument,
                cat("a picture of ", width, " x ", height, " has no size with at most ", max_patches, " patches"));
  }
  return size;
}

}  // namespace

std::pair<int, int> size_in_budget(int height, int width, int factor, int64_t min_pixels, int64_t max_pixels) {
  check_shape(height, width);
  return video_size_in_budget(1, height, width, factor, 1, min_pixels, max_pixels);
}

std::pair<int, int> video_size_in_budget(int frames, int height, int width, int factor, int time_factor,
                                         int64_t min_pixels, int64_t max_pixels) {
  const int old_height = height, old_width = width;
  if (time_factor > 1 && (height < factor || width < factor)) {
    const double scale = std::max(static_cast<double>(factor) / height, static_cast<double>(factor) / width);
    const auto larger = checked(std::floor(height * scale), std::floor(width * scale), height, width);
    height = larger.first;
    width = larger.second;
  }
  check_shape(height, width);
  double new_height = rounded(static_cast<double>(height) / factor) * factor;
  double new_width = rounded(static_cast<double>(width) / factor) * factor;
  const double time = rounded(static_cast<double>(frames) / time_factor) * time_factor;
  const double pixels = static_cast<double>(frames) * height * width;
  if (time * new_height * new_width > static_cast<double>(max_pixels)) {
    const double beta = std::sqrt(pixels / static_cast<double>(max_pixels));
    new_height = std::max<double>(factor, std::floor(height / beta / factor) * factor);
    new_width = std::max<double>(factor, std::floor(width / beta / factor) * factor);
  } else if (time * new_height * new_width < static_cast<double>(min_pixels)) {
    const double beta = std::sqrt(static_cast<double>(min_pixels) / pixels);
    new_height = std::ceil(height * beta / factor) * factor;
    new_width = std::ceil(width * beta / factor) * factor;
  }
  return checked(new_height, new_width, old_height, old_width);
}

std::pair<int, int> size_by_rule(const ImageProcessorConfig& config, int height, int width) {
  const int factor = config.patch * config.merge;
  switch (config.size_rule) {
    case SizeRule::kAsIs: return {height, width};
    case SizeRule::kExact: return {config.height, config.width};
    case SizeRule::kShortestEdge: return shortest_edge(height, width, config.edge);
    case SizeRule::kLongestEdge: return longest_edge(height, width, config.edge);
    case SizeRule::kPixelBudget: return size_in_budget(height, width, factor, config.min_pixels, config.max_pixels);
    case SizeRule::kInside: return inside(height, width, config.edge, factor);
    case SizeRule::kMostPatches: return most_patches(height, width, config.patch, config.max_patches);
  }
  throw Error(ErrorCode::kInternal, "no such rule for the size of a picture");
}

std::pair<int, int> size_for_splitting(int height, int width, int edge) {
  double shape = static_cast<double>(width) / height;
  const bool is_wide = width >= height;
  double longer = edge, shorter = std::floor(is_wide ? longer / shape : longer * shape);
  shorter = std::max(1.0, shorter + std::fmod(shorter, 2));
  if (longer > kMostOfASplitPicture) {
    shape = is_wide ? longer / shorter : shorter / longer;
    longer = kMostOfASplitPicture;
    shorter = std::max(1.0, std::floor(is_wide ? longer / shape : longer * shape));
  }
  return is_wide ? checked(shorter, longer, height, width) : checked(longer, shorter, height, width);
}

std::pair<int, int> size_in_whole_tiles(int height, int width, int tile) {
  const double shape = static_cast<double>(width) / height;
  const auto whole = [&](double side) { return std::ceil(side / tile) * tile; };
  if (width >= height) {
    const double new_width = whole(width);
    return checked(whole(std::floor(new_width / shape)), new_width, height, width);
  }
  const double new_height = whole(height);
  return checked(new_height, whole(std::floor(new_height * shape)), height, width);
}

std::pair<int, int> nearest_grid(int height, int width, int tile_height, int tile_width, int min_tiles, int max_tiles) {
  const double shape = static_cast<double>(width) / height, area = static_cast<double>(width) * height;
  double best = std::numeric_limits<double>::infinity();
  std::pair<int, int> grid = {1, 1};
  for (int tiles = min_tiles; tiles <= max_tiles; ++tiles) {
    for (int columns = 1; columns <= tiles; ++columns) {
      if (tiles % columns != 0) continue;
      const int rows = tiles / columns;
      const double distance = std::abs(shape - static_cast<double>(columns) / rows);
      const double of_tiles = 0.5 * tile_height * tile_width * columns * rows;
      if (distance < best || (distance == best && area > of_tiles)) grid = {rows, columns};
      best = std::min(best, distance);
    }
  }
  return grid;
}

std::pair<int, int> best_resolution(int height, int width, const std::vector<std::pair<int, int>>& resolutions) {
  std::pair<int, int> best = {0, 0};
  int64_t most_kept = 0, least_wasted = std::numeric_limits<int64_t>::max();
  for (const auto& resolution : resolutions) {
    const double scale =
        std::min(static_cast<double>(resolution.second) / width, static_cast<double>(resolution.first) / height);
    const int64_t inner = static_cast<int64_t>(width * scale) * static_cast<int64_t>(height * scale);
    const int64_t kept = std::min(inner, int64_t{width} * height);
    const int64_t wasted = int64_t{resolution.first} * resolution.second - kept;
    if (kept > most_kept || (kept == most_kept && wasted < least_wasted)) {
      most_kept = kept;
      least_wasted = wasted;
      best = resolution;
    }
  }
  if (best.first == 0) {
    throw Error(ErrorCode::kInvalidArgument, cat("a picture of ", width, " x ", height, " fits no grid of this model"));
  }
  return best;
}

std::pair<int, int> size_inside(int height, int width, std::pair<int, int> resolution) {
  const double by_width = static_cast<double>(resolution.second) / width;
  const double by_height = static_cast<double>(resolution.first) / height;
  if (by_width < by_height) {
    return {std::min(static_cast<int>(std::ceil(height * by_width)), resolution.first), resolution.second};
  }
  return {resolution.first, std::min(static_cast<int>(std::ceil(width * by_height)), resolution.second)};
}

}  // namespace wick
