#include "media/processors/picture_tiles.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "media/processors/picture_sizes.h"

namespace wick {
namespace {

class TileCutter {
 public:
  TileCutter(const ImageProcessorConfig& config, const Picture& picture, PixelValues& out)
      : config_(config), picture_(picture), out_(out) {}

  std::vector<Picture> cut() {
    switch (config_.cut) {
      case CutRule::kWhole: break;
      case CutRule::kPanAndScan: return pan_and_scan();
      case CutRule::kAnyResolution: return any_resolution();
      case CutRule::kTiles: return nearest_tiles();
      case CutRule::kSplit: return split();
      case CutRule::kPatchTiles: return patch_tiles();
    }
    return pieces(by_rule(picture_));
  }

 private:
  template <typename... P>
  static std::vector<Picture> pieces(P... picture) {
    std::vector<Picture> all;
    (all.push_back(std::move(picture)), ...);
    return all;
  }

  Picture resized(const Picture& picture, std::pair<int, int> size) const {
    // Only Pillow has the other filters, which torchvision calls there.
    const bool is_common = config_.filter == ResizeFilter::kBilinear || config_.filter == ResizeFilter::kBicubic ||
                           config_.filter == ResizeFilter::kNearest;
    return resize(picture, size.second, size.first, config_.filter,
                  is_common ? config_.arithmetic : ResizeArithmetic::kPillow);
  }

  Picture by_rule(const Picture& picture) const {
    Picture sized = config_.size_rule == SizeRule::kAsIs
                        ? picture
                        : resized(picture, size_by_rule(config_, picture.height, picture.width));
    return config_.crop ? centre_crop(sized, config_.crop->first, config_.crop->second) : sized;
  }

  // Rows first.
  void append_grid(const Picture& picture, int tile_height, int tile_width, std::vector<Picture>& tiles) const {
    for (int y = 0; y + tile_height <= picture.height; y += tile_height) {
      for (int x = 0; x + tile_width <= picture.width; x += tile_width) {
        tiles.push_back(crop(picture, x, y, tile_width, tile_height));
      }
    }
  }

  std::vector<Picture> pan_and_scan() {
    std::vector<Picture> tiles = pieces(by_rule(picture_));
    const int longer = std::max(picture_.height, picture_.width), shorter = std::min(picture_.height, picture_.width);
    const double ratio = static_cast<double>(longer) / shorter;
    if (ratio < config_.min_crop_ratio) return tiles;
    int crops = std::min(longer / config_.min_crop, static_cast<int>(std::floor(ratio + 0.5)));
    crops = std::min(config_.max_tiles, std::max(2, crops));
    const int length = (longer + crops - 1) / crops;
    if (std::min(length, shorter) < config_.min_crop) return tiles;
    const bool is_wide = picture_.width >= picture_.height;
    for (int i = 0; i < crops; ++i) {
      const int at = i * length, size = std::min(length, longer - at);
      if (size < 1) break;
      tiles.push_back(by_rule(is_wide ? crop(picture_, at, 0, size, shorter) : crop(picture_, 0, at, shorter, size)));
    }
    out_.tile_rows = is_wide ? 1 : crops;
    out_.tile_columns = is_wide ? crops : 1;
    out_.has_overview = true;
    return tiles;
  }

  std::vector<Picture> any_resolution() {
    const bool is_exact = config_.size_rule == SizeRule::kExact;
    const std::pair whole = is_exact ? std::pair(config_.height, config_.width) : std::pair(config_.edge, config_.edge);
    const int tile = config_.crop ? config_.crop->first : whole.first;
    const auto resolution = best_resolution(picture_.height, picture_.width, config_.pinpoints);
    if (resolution.first % tile != 0 || resolution.second % tile != 0) {
      throw Error(ErrorCode::kUnsupported, cat("a grid of ", resolution.first, " x ", resolution.second,
                                               " does not consist of tiles of ", tile, " pixels"));
    }
    const Picture inner = resized(picture_, size_inside(picture_.height, picture_.width, resolution));
    std::vector<Picture> tiles = pieces(resized(picture_, whole));
    append_grid(pad_around(inner, resolution.first, resolution.second, {0, 0, 0}), tile, tile, tiles);
    for (Picture& each : tiles) each = by_rule(each);
    out_.tile_rows = resolution.first / tile;
    out_.tile_columns = resolution.second / tile;
    out_.has_overview = true;
    return tiles;
  }

  std::vector<Picture> nearest_tiles() {
    const auto [rows, columns] = nearest_grid(picture_.height, picture_.width, config_.height, config_.width,
                                              config_.min_tiles, config_.max_tiles);
    std::vector<Picture> tiles;
    append_grid(resized(picture_, {config_.height * rows, config_.width * columns}), config_.height, config_.width,
                tiles);
    if (rows * columns == 1) return tiles;
    out_.tile_rows = rows;
    out_.tile_columns = columns;
    out_.has_overview = config_.overview;
    if (config_.overview) tiles.push_back(resized(picture_, {config_.height, config_.width}));
    return tiles;
  }

  std::vector<Picture> split() {
    const Picture sized = resized(picture_, size_for_splitting(picture_.height, picture_.width, config_.edge));
    const std::pair one = {config_.tile, config_.tile};
    if (config_.max_tiles == 1) return pieces(resized(sized, one));
    const Picture whole = resized(sized, size_in_whole_tiles(sized.height, sized.width, config_.tile));
    if (whole.height == config_.tile && whole.width == config_.tile) return pieces(whole);
    std::vector<Picture> tiles;
    append_grid(whole, config_.tile, config_.tile, tiles);
    tiles.push_back(resized(whole, one));
    out_.tile_rows = whole.height / config_.tile;
    out_.tile_columns = whole.width / config_.tile;
    out_.has_overview = true;
    return tiles;
  }

  std::vector<Picture> patch_tiles() {
    const int factor = config_.patch * config_.merge, height = picture_.height, width = picture_.width;
    const int64_t per_token = int64_t{factor} * factor;
    const auto near = [&](int side, int least) {
      return std::max<double>(least, std::nearbyint(static_cast<double>(side) / factor) * factor);
    };
    const double most = static_cast<double>(config_.max_tokens * per_token);
    const bool is_large = near(height, config_.patch) * near(width, config_.patch) > most * config_.tolerance;
    const auto size = small_size(near(height, factor), near(width, factor), per_token);
    if (!is_large || (config_.min_tiles == 1 && config_.max_tiles == 1)) return pieces(resized(picture_, size));
    const auto [rows, columns] =
        nearest_grid(height, width, config_.tile, config_.tile, config_.min_tiles, config_.max_tiles);
    std::vector<Picture> tiles;
    append_grid(resized(picture_, {config_.tile * rows, config_.tile * columns}), config_.tile, config_.tile, tiles);
    out_.tile_rows = rows;
    out_.tile_columns = columns;
    out_.has_overview = config_.overview && rows * columns > 1;
    if (out_.has_overview) tiles.push_back(resized(picture_, size));
    return tiles;
  }

  // Sides of whole tokens within the budget of tokens; `height` and `width` are the picture's, rounded.
  std::pair<int, int> small_size(double height, double width, int64_t per_token) const {
    const int factor = config_.patch * config_.merge;
    const double most = static_cast<double>(config_.max_tokens * per_token);
    const double least = static_cast<double>(config_.min_tokens * per_token);
    const double pixels = static_cast<double>(picture_.height) * picture_.width;
    if (height * width > most) {
      const double beta = std::sqrt(pixels / most);
      height = std::max<double>(factor, std::floor(picture_.height / beta / factor) * factor);
      width = std::max<double>(factor, std::floor(picture_.width / beta / factor) * factor);
    } else if (height * width < least) {
      const double beta = std::sqrt(least / pixels);
      height = std::ceil(picture_.height * beta / factor) * factor;
      width = std::ceil(picture_.width * beta / factor) * factor;
    }
    if (height * width > 4 * most) {
      throw Error(ErrorCode::kInvalidArgument,
                  cat("a picture of ", picture_.width, " x ", picture_.height, " is too long for the ",
                      config_.max_tokens, " tokens of this model"));
    }
    return {static_cast<int>(height), static_cast<int>(width)};
  }

  const ImageProcessorConfig& config_;
  const Picture& picture_;
  PixelValues& out_;
};

}  // namespace

Picture pad_around(const Picture& picture, int height, int width, const std::array<uint8_t, 3>& colour) {
  if (picture.height == height && picture.width == width) return picture;
  Picture out = plain_picture(width, height, colour[0], colour[1], colour[2]);
  const int top = (height - picture.height) / 2, left = (width - picture.width) / 2;
  for (int y = 0; y < picture.height; ++y) {
    std::copy_n(picture.row(y), ptrdiff_t{3} * picture.width, out.row(top + y) + ptrdiff_t{3} * left);
  }
  return out;
}

Picture centre_crop(const Picture& picture, int height, int width) {
  const Picture padded =
      pad_around(picture, std::max(height, picture.height), std::max(width, picture.width), {0, 0, 0});
  if (padded.height == height && padded.width == width) return padded;
  return crop(padded, (padded.width - width) / 2, (padded.height - height) / 2, width, height);
}

std::vector<Picture> cut_into_tiles(const ImageProcessorConfig& config, const Picture& picture, PixelValues& out) {
  if (!config.pad_to_square || picture.height == picture.width) return TileCutter(config, picture, out).cut();
  const int side = std::max(picture.height, picture.width);
  std::array<uint8_t, 3> colour = {};
  for (size_t c = 0; c < 3; ++c) colour[c] = static_cast<uint8_t>(std::clamp(config.mean[c] * 255, 0.0, 255.0));
  return TileCutter(config, pad_around(picture, side, side, colour), out).cut();
}

}  // namespace wick
