#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "media/image/picture.h"
#include "media/image/resize.h"
#include "tensor/tensor.h"

namespace wick {

// How large a picture becomes before it is cut, cropped or padded.
enum class SizeRule {
  kAsIs,
  kExact,         // height x width, whatever the shape was
  kShortestEdge,  // the shorter side becomes this, the shape stays
  kLongestEdge,   // the longer side becomes this (SAM)
  kPixelBudget,   // both sides multiples of patch * merge, pixels between two bounds (Qwen-VL)
  kInside,        // made smaller until it fits, then rounded up to whole patches (Pixtral)
  kMostPatches,   // as many patches as fit max_patches (SigLIP 2 of any shape)
};

// What several tensors a picture is cut into.
enum class CutRule {
  kWhole,
  kPanAndScan,     // Gemma 3: the whole, then crops of a picture that is much longer than wide
  kAnyResolution,  // LLaVA-NeXT and OneVision: the whole, then tiles of the best of some grids
  kTiles,          // InternVL: tiles of the best grid, then the whole where there is more than one tile
  kSplit,          // Idefics3, SmolVLM: tiles, then the whole where there is more than one tile
  kPatchTiles,     // LFM2-VL: as kTiles, in patches; a small picture stays whole with sides of patch * merge
};

enum class PixelLayout {
  kPlanes,         // [tiles, 3, height, width]
  kMergedPatches,  // [patches, 3 * temporal_patch * patch * patch], patches of a merge x merge square together
                   // (Qwen-VL)
  kPatchRows,      // [patches, patch * patch * 3], row by row (SigLIP 2, LFM2-VL)
};

// A preprocessor_config.json, read. The defaults are those of the class of the same name in transformers.
struct ImageProcessorConfig {
  std::string kind;  // "CLIPImageProcessor", without "Fast"
  SizeRule size_rule = SizeRule::kExact;
  CutRule cut = CutRule::kWhole;
  PixelLayout layout = PixelLayout::kPlanes;
  ResizeFilter filter = ResizeFilter::kBicubic;
  ResizeArithmetic arithmetic = ResizeArithmetic::kTorchvision;
  bool rescale_first = false;  // resizes f32 instead of bytes (DINOv3)

  int height = 224, width = 224;            // kExact; of one tile
  int edge = 224;                           // kShortestEdge, kLongestEdge, kInside
  std::optional<std::pair<int, int>> crop;  // height, width, around the centre
  std::optional<std::pair<int, int>> pad;   // height, width, below and to the right, with zeros behind normalising
  bool pad_to_square = false;               // with the mean's colour, around the picture (LLaVA)

  int patch = 14, merge = 1, temporal_patch = 1;
  int64_t min_pixels = 0, max_pixels = 0;  // kPixelBudget
  int64_t max_patches = 256;               // kMostPatches

  int min_tiles = 1, max_tiles = 12;
  int tile = 0;                                // side of a tile (kSplit, kPatchTiles)
  bool overview = true;                        // kTiles, kPatchTiles: with the whole behind the tiles
  std::vector<std::pair<int, int>> pinpoints;  // height, width (kAnyResolution)
  int min_crop = 256;                          // kPanAndScan
  double min_crop_ratio = 1.2;
  int64_t min_tokens = 64, max_tokens = 256;  // kPatchTiles
  double tolerance = 2.0;

  double rescale = 1.0 / 255;  // 0: not rescaled
  std::array<double, 3> mean = {0, 0, 0}, std = {1, 1, 1};

  // Reads preprocessor_config.json, or the image_processor of a processor_config.json. Throws Error(kUnsupported) that
  // names a class that is not known, Error(kBadFile) that names a field that makes no sense.
  static ImageProcessorConfig of_json(const Json& json);
  // The defaults of a class, for models that come without the file. Throws as of_json.
  static ImageProcessorConfig of_kind(std::string_view kind);
  // The files of a model's folder: processor_config.json and preprocessor_config.json.
  static ImageProcessorConfig load(const std::filesystem::path& folder);
  static bool is_in(const std::filesystem::path& folder);
};

struct PatchGrid {
  int time = 1, height = 0, width = 0;  // in patches
  int64_t patches() const { return int64_t{time} * height * width; }
};

// What a tower takes of one picture, or of one video.
struct PixelValues {
  Tensor values;                              // f32, see PixelLayout; patches of all tiles one behind the other
  std::vector<PatchGrid> grids;               // of each tile in order; empty for kPlanes
  int tile_rows = 0, tile_columns = 0;        // of the grid of tiles; 0: the picture is in one piece
  bool has_overview = false;                  // besides the tiles there is the whole: see CutRule for its place
  int picture_height = 0, picture_width = 0;  // before anything
  int height = 0, width = 0;  // of the picture in `values`, without padding; of one tile where it is cut

  int64_t tiles() const { return grids.empty() ? values.dim(0) : static_cast<int64_t>(grids.size()); }
};

// Makes of pictures what the processors of transformers make of them. Immutable; safe to use from several threads.
class ImageProcessor {
 public:
  explicit ImageProcessor(ImageProcessorConfig config);
  static ImageProcessor load(const std::filesystem::path& folder) {
    return ImageProcessor(ImageProcessorConfig::load(folder));
  }

  const ImageProcessorConfig& config() const { return config_; }
  // Throws Error(kInvalidArgument) for a picture that the rules cannot take, such as one 200 times as long as wide.
  PixelValues process(const Picture& picture) const;
  // Frames of one size, all made equally large. kMergedPatches only: an odd one out is repeated at the end; the grid's
  // time is frames / temporal_patch. `min_pixels` and `max_pixels` count all frames together if `counts_time`
  // (Qwen3-VL), else each by itself.
  PixelValues process_video(std::span<const Picture> frames, int64_t min_pixels, int64_t max_pixels,
                            bool counts_time) const;

  // The size before cutting that SizeRule::kPixelBudget gives: {height, width}.
  std::pair<int, int> size_within_budget(int height, int width) const;

 private:
  ImageProcessorConfig config_;
};

}  // namespace wick
