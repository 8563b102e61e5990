#include "media/processors/image_processor.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "media/processors/picture_sizes.h"
#include "media/processors/picture_tiles.h"
#include "tensor/create.h"

namespace wick {
namespace {

// What every byte becomes in every channel, in the order of operations that torchvision has.
using ByteValues = std::array<std::array<float, 256>, 3>;

ByteValues byte_values(const ImageProcessorConfig& config) {
  ByteValues values;
  const auto rescale = static_cast<float>(config.rescale);
  const auto widen = static_cast<float>(config.rescale == 0 ? 1 : 1 / config.rescale);
  const bool normalises = config.mean != std::array<double, 3>{0, 0, 0} || config.std != std::array<double, 3>{1, 1, 1};
  for (size_t c = 0; c < 3; ++c) {
    const float mean = static_cast<float>(config.mean[c]) * widen, std = static_cast<float>(config.std[c]) * widen;
    for (size_t i = 0; i < 256; ++i) {
      const auto byte = static_cast<float>(i);
      values[c][i] = normalises ? (byte - mean) / std : config.rescale == 0 ? byte : byte * rescale;
    }
  }
  return values;
}

void append_planes(const Picture& picture, const ByteValues& values, int64_t height, int64_t width, float* out) {
  for (size_t c = 0; c < 3; ++c) {
    for (int y = 0; y < picture.height; ++y) {
      const uint8_t* row = picture.row(y) + c;
      float* to = out + (static_cast<int64_t>(c) * height + y) * width;
      for (int x = 0; x < picture.width; ++x) to[x] = values[c][row[ptrdiff_t{3} * x]];
    }
  }
}

Tensor planes(const std::vector<Picture>& tiles, const ImageProcessorConfig& config) {
  int64_t height = 0, width = 0;
  for (const Picture& tile : tiles) {
    height = std::max<int64_t>(height, tile.height);
    width = std::max<int64_t>(width, tile.width);
  }
  if (config.pad) {
    if (height > config.pad->first || width > config.pad->second) {
      throw Error(ErrorCode::kInvalidArgument, cat("a picture of ", width, " x ", height, " does not fit the ",
                                                   config.pad->second, " x ", config.pad->first, " of this model"));
    }
    height = config.pad->first;
    width = config.pad->second;
  }
  const ByteValues values = byte_values(config);
  Tensor out = zeros({std::ssize(tiles), 3, height, width});
  for (size_t i = 0; i < tiles.size(); ++i) {
    append_planes(tiles[i], values, height, width,
                  out.mutable_data<float>() + static_cast<int64_t>(i) * 3 * height * width);
  }
  return out;
}

PatchGrid grid_of(const Picture& tile, const ImageProcessorConfig& config, int frames) {
  const int multiple = config.layout == PixelLayout::kMergedPatches ? config.patch * config.merge : config.patch;
  if (tile.height % multiple != 0 || tile.width % multiple != 0) {
    throw Error(ErrorCode::kInvalidArgument, cat("a picture of ", tile.width, " x ", tile.height,
                                                 " does not consist of squares of ", multiple, " pixels"));
  }
  return {frames, tile.height / config.patch, tile.width / config.patch};
}

// Patches of a merge x merge square follow each other; each holds [3, temporal_patch, patch, patch].
void append_merged(std::span<const Picture* const> frames, const ByteValues& values, const ImageProcessorConfig& config,
                   float*& out) {
  const int patch = config.patch, merge = config.merge, square = patch * merge;
  for (int top = 0; top < frames[0]->height; top += square) {
    for (int left = 0; left < frames[0]->width; left += square) {
      for (int inner = 0; inner < merge * merge; ++inner) {
        const int y0 = top + inner / merge * patch, x0 = left + inner % merge * patch;
        for (size_t c = 0; c < 3; ++c) {
          for (const Picture* frame : frames) {
            for (int y = y0; y < y0 + patch; ++y) {
              const uint8_t* row = frame->row(y) + ptrdiff_t{3} * x0 + c;
              for (int x = 0; x < patch; ++x) *out++ = values[c][row[ptrdiff_t{3} * x]];
            }
          }
        }
      }
    }
  }
}

void append_rows(const Picture& tile, const ByteValues& values, int patch, float*& out) {
  for (int y0 = 0; y0 < tile.height; y0 += patch) {
    for (int x0 = 0; x0 < tile.width; x0 += patch) {
      for (int y = y0; y < y0 + patch; ++y) {
        const uint8_t* row = tile.row(y) + ptrdiff_t{3} * x0;
        for (int i = 0; i < 3 * patch; ++i) *out++ = values[static_cast<size_t>(i % 3)][row[i]];
      }
    }
  }
}

Tensor patch_tensor(const std::vector<PatchGrid>& grids, int64_t row) {
  int64_t patches = 0;
  for (const PatchGrid& grid : grids) patches += grid.patches();
  return empty({patches, row});
}

// DINOv3 resizes numbers.
Tensor resized_numbers(const Picture& picture, const ImageProcessorConfig& config, PixelValues& out) {
  ImageProcessorConfig only_rescale = config;
  only_rescale.mean = {0, 0, 0};
  only_rescale.std = {1, 1, 1};
  const int height = picture.height, width = picture.width;
  std::vector<float> numbers(static_cast<size_t>(height) * static_cast<size_t>(width) * 3);
  append_planes(picture, byte_values(only_rescale), height, width, numbers.data());
  const auto [new_height, new_width] = size_by_rule(config, height, width);
  if (new_height != height || new_width != width) {
    numbers = resize_planes(numbers, 3, height, width, new_height, new_width, config.filter);
  }
  const size_t plane = static_cast<size_t>(new_height) * static_cast<size_t>(new_width);
  for (size_t i = 0; i < numbers.size(); ++i) {
    const size_t c = i / plane;
    numbers[i] = (numbers[i] - static_cast<float>(config.mean[c])) / static_cast<float>(config.std[c]);
  }
  out.height = new_height;
  out.width = new_width;
  return from_vector(numbers, {1, 3, new_height, new_width});
}

}  // namespace

ImageProcessor::ImageProcessor(ImageProcessorConfig config) : config_(std::move(config)) {
  const auto check = [&](bool is_good, std::string_view what) {
    if (!is_good) throw Error(ErrorCode::kInvalidArgument, cat("the image processor ", config_.kind, " has ", what));
  };
  check(config_.patch > 0 && config_.merge > 0 && config_.temporal_patch > 0, "patches without a size");
  check(config_.size_rule != SizeRule::kPixelBudget || config_.min_pixels <= config_.max_pixels,
        cat("at least ", config_.min_pixels, " pixels and at most ", config_.max_pixels));
  check(!config_.rescale_first || (config_.cut == CutRule::kWhole && !config_.crop),
        "a crop behind numbers that are resized");
}

std::pair<int, int> ImageProcessor::size_within_budget(int height, int width) const {
  return size_in_budget(height, width, config_.patch * config_.merge, config_.min_pixels, config_.max_pixels);
}

PixelValues ImageProcessor::process(const Picture& picture) const {
  if (picture.width < 1 || picture.height < 1 ||
      picture.rgb.size() != static_cast<size_t>(picture.width) * static_cast<size_t>(picture.height) * 3) {
    throw Error(ErrorCode::kInvalidArgument,
                cat("a picture of ", picture.width, " x ", picture.height, " has ", picture.rgb.size(), " bytes"));
  }
  PixelValues out;
  out.picture_height = picture.height;
  out.picture_width = picture.width;
  if (config_.rescale_first) {
    out.values = resized_numbers(picture, config_, out);
    return out;
  }
  const std::vector<Picture> tiles = cut_into_tiles(config_, picture, out);
  out.height = tiles[0].height;
  out.width = tiles[0].width;
  if (config_.layout == PixelLayout::kPlanes) {
    out.values = planes(tiles, config_);
    return out;
  }
  for (const Picture& tile : tiles) out.grids.push_back(grid_of(tile, config_, 1));
  const ByteValues values = byte_values(config_);
  const bool is_merged = config_.layout == PixelLayout::kMergedPatches;
  const int64_t times = is_merged ? config_.temporal_patch : 1;
  out.values = patch_tensor(out.grids, 3 * times * config_.patch * config_.patch);
  auto* to = out.values.mutable_data<float>();
  for (const Picture& tile : tiles) {
    if (is_merged) {
      const std::vector<const Picture*> frames(static_cast<size_t>(times), &tile);
      append_merged(frames, values, config_, to);
    } else {
      append_rows(tile, values, config_.patch, to);
    }
  }
  return out;
}

PixelValues ImageProcessor::process_video(std::span<const Picture> frames, int64_t min_pixels, int64_t max_pixels,
                                          bool counts_time) const {
  if (config_.layout != PixelLayout::kMergedPatches) {
    throw Error(ErrorCode::kUnsupported,
                cat("the image processor ", config_.kind, " takes single pictures, not videos"));
  }
  if (frames.empty()) throw Error(ErrorCode::kInvalidArgument, "a video without frames");
  const int height = frames[0].height, width = frames[0].width, factor = config_.patch * config_.merge;
  for (const Picture& frame : frames) {
    if (frame.height != height || frame.width != width) {
      throw Error(ErrorCode::kInvalidArgument,
                  cat("a video has frames of ", width, " x ", height, " and of ", frame.width, " x ", frame.height));
    }
  }
  const int times = config_.temporal_patch;
  const int count = static_cast<int>(frames.size());
  const auto size =
      counts_time ? video_size_in_budget(std::max(count, times), height, width, factor, times, min_pixels, max_pixels)
                  : size_in_budget(height, width, factor, min_pixels, max_pixels);
  std::vector<Picture> sized;
  for (const Picture& frame : frames) {
    sized.push_back(resize(frame, size.second, size.first, config_.filter, config_.arithmetic));
  }
  PixelValues out;
  out.picture_height = height;
  out.picture_width = width;
  out.height = size.first;
  out.width = size.second;
  out.grids.push_back(grid_of(sized[0], config_, (count + times - 1) / times));
  out.values = patch_tensor(out.grids, int64_t{3} * times * config_.patch * config_.patch);
  const ByteValues values = byte_values(config_);
  auto* to = out.values.mutable_data<float>();
  for (int first = 0; first < count; first += times) {
    std::vector<const Picture*> group;
    for (int i = first; i < first + times; ++i) group.push_back(&sized[static_cast<size_t>(std::min(i, count - 1))]);
    append_merged(group, values, config_, to);
  }
  return out;
}

}  // namespace wick
