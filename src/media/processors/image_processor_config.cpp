#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>

#include "base/text.h"
#include "media/processors/image_processor.h"

namespace wick {
namespace {

using Config = ImageProcessorConfig;
constexpr std::array<double, 3> kClipMean = {0.48145466, 0.4578275, 0.40821073};
constexpr std::array<double, 3> kClipStd = {0.26862954, 0.26130258, 0.27577711};
constexpr std::array<double, 3> kImageNetMean = {0.485, 0.456, 0.406}, kImageNetStd = {0.229, 0.224, 0.225};
constexpr std::array<double, 3> kHalf = {0.5, 0.5, 0.5};
constexpr int kMostPixelsOfASide = 1 << 15;

void exact(Config& config, int side, ResizeFilter filter, const std::array<double, 3>& mean,
           const std::array<double, 3>& std) {
  config.height = config.width = side;
  config.filter = filter;
  config.mean = mean;
  config.std = std;
}

// CLIP and those who took it over: the shorter side, then the middle.
void clip(Config& config) {
  exact(config, 224, ResizeFilter::kBicubic, kClipMean, kClipStd);
  config.size_rule = SizeRule::kShortestEdge;
  config.crop = {224, 224};
}

void any_resolution(Config& config, int tile, int most) {
  config.cut = CutRule::kAnyResolution;
  for (int height = tile; height <= most; height += tile) {
    for (int width = tile; width <= most; width += tile) config.pinpoints.emplace_back(height, width);
  }
}

using Defaults = void (*)(Config&);
constexpr std::pair<std::string_view, Defaults> kKinds[] = {
    {"CLIPImageProcessor", clip},
    {"BitImageProcessor", clip},
    {"LlavaImageProcessor", clip},
    {"ViTImageProcessor", [](Config& c) { exact(c, 224, ResizeFilter::kBilinear, kHalf, kHalf); }},
    {"DeiTImageProcessor",
     [](Config& c) {
       exact(c, 256, ResizeFilter::kBicubic, kHalf, kHalf);
       c.crop = {224, 224};
     }},
    {"ConvNextImageProcessor",
     [](Config& c) {
       exact(c, 384, ResizeFilter::kBicubic, kHalf, kHalf);
       c.size_rule = SizeRule::kShortestEdge;
       c.edge = 384;
     }},
    {"SiglipImageProcessor", [](Config& c) { exact(c, 224, ResizeFilter::kBicubic, kHalf, kHalf); }},
    {"Siglip2ImageProcessor",
     [](Config& c) {
       exact(c, 224, ResizeFilter::kBilinear, kHalf, kHalf);
       c.size_rule = SizeRule::kMostPatches;
       c.layout = PixelLayout::kPatchRows;
       c.patch = 16;
     }},
    {"BlipImageProcessor", [](Config& c) { exact(c, 384, ResizeFilter::kBicubic, kClipMean, kClipStd); }},
    {"DINOv3ViTImageProcessor",
     [](Config& c) {
       exact(c, 224, ResizeFilter::kBilinear, kImageNetMean, kImageNetStd);
       c.rescale_first = true;
     }},
    {"SamImageProcessor",
     [](Config& c) {
       exact(c, 1024, ResizeFilter::kBilinear, kImageNetMean, kImageNetStd);
       c.size_rule = SizeRule::kLongestEdge;
       c.edge = 1024;
       c.pad = {1024, 1024};
     }},
    {"Sam2ImageProcessor", [](Config& c) { exact(c, 1024, ResizeFilter::kBilinear, kImageNetMean, kImageNetStd); }},
    {"Qwen2VLImageProcessor",
     [](Config& c) {
       exact(c, 224, ResizeFilter::kBicubic, kClipMean, kClipStd);
       c.size_rule = SizeRule::kPixelBudget;
       c.layout = PixelLayout::kMergedPatches;
       c.merge = c.temporal_patch = 2;
       c.min_pixels = 56 * 56;
       c.max_pixels = 28 * 28 * 1280;
     }},
    {"Gemma3ImageProcessor", [](Config& c) { exact(c, 224, ResizeFilter::kBilinear, kHalf, kHalf); }},
    {"LlavaNextImageProcessor",
     [](Config& c) {
       clip(c);
       c.cut = CutRule::kAnyResolution;
       c.pinpoints = {{336, 672}, {672, 336}, {672, 672}, {1008, 336}, {336, 1008}};
     }},
    {"LlavaOnevisionImageProcessor",
     [](Config& c) {
       exact(c, 384, ResizeFilter::kBicubic, kClipMean, kClipStd);
       any_resolution(c, 384, 2304);
     }},
    {"Idefics3ImageProcessor",
     [](Config& c) {
       exact(c, 364, ResizeFilter::kLanczos, kHalf, kHalf);
       c.cut = CutRule::kSplit;
       c.edge = 4 * 364;
       c.tile = 364;
     }},
    {"GotOcr2ImageProcessor", [](Config& c) { exact(c, 384, ResizeFilter::kBicubic, kClipMean, kClipStd); }},
    {"PixtralImageProcessor",
     [](Config& c) {
       exact(c, 1024, ResizeFilter::kBicubic, kClipMean, kClipStd);
       c.size_rule = SizeRule::kInside;
       c.edge = 1024;
       c.patch = 16;
     }},
    {"Lfm2VlImageProcessor",
     [](Config& c) {
       exact(c, 512, ResizeFilter::kBilinear, kHalf, kHalf);
       c.cut = CutRule::kPatchTiles;
       c.layout = PixelLayout::kPatchRows;
       c.patch = 16;
       c.merge = 2;
       c.min_tiles = 2;
       c.max_tiles = 10;
       c.tile = 512;
     }},
};
constexpr std::pair<std::string_view, std::string_view> kOtherNames[] = {
    {"SmolVLMImageProcessor", "Idefics3ImageProcessor"}, {"Qwen2_5_VLImageProcessor", "Qwen2VLImageProcessor"},
    {"Qwen3VLImageProcessor", "Qwen2VLImageProcessor"},  {"InternVLImageProcessor", "GotOcr2ImageProcessor"},
    {"DINOv2ImageProcessor", "BitImageProcessor"},
};

std::string without_ending(std::string name, std::string_view ending) {
  if (name.ends_with(ending)) name.resize(name.size() - ending.size());
  return name;
}

// Reads fields, each checked.
class Fields {
 public:
  explicit Fields(const Json& json) : json_(json) {}

  const Json* find(std::string_view name) const {
    const Json* field = json_.find(name);
    return field && !field->is_null() ? field : nullptr;
  }
  bool flag(std::string_view name, bool fallback) const { return json_.get(name, fallback); }

  static int64_t count_of(const Json& field, int64_t least, int64_t most) {
    const int64_t value = field.as_int();
    if (value < least || value > most) {
      throw Error(ErrorCode::kBadFile, cat(field.place(), " is ", value, ", expected ", least, " to ", most));
    }
    return value;
  }
  template <typename T>
  void count(std::string_view name, T& value, int64_t least, int64_t most) const {
    if (const Json* field = find(name)) value = static_cast<T>(count_of(*field, least, most));
  }
  void side(std::string_view name, int& value) const { count(name, value, 1, kMostPixelsOfASide); }

  // Three numbers, or one for all.
  void colours(std::string_view name, std::array<double, 3>& values) const {
    const Json* field = find(name);
    if (!field) return;
    if (field->is_number()) {
      values.fill(field->as_number());
    } else {
      const auto numbers = field->to<std::vector<double>>();
      if (numbers.size() != 3) {
        throw Error(ErrorCode::kBadFile, cat(field->place(), " has ", numbers.size(), " numbers, expected 3"));
      }
      std::copy(numbers.begin(), numbers.end(), values.begin());
    }
    for (const double value : values) {
      if (!std::isfinite(value))
        throw Error(ErrorCode::kBadFile, cat(field->place(), " has a number that is not finite"));
    }
  }

  // A number for both, or {"height", "width"}.
  std::optional<std::pair<int, int>> height_and_width(std::string_view name) const {
    const Json* field = find(name);
    if (!field) return std::nullopt;
    int height = 0, width = 0;
    if (field->is_object()) {
      height = static_cast<int>(count_of(field->at("height"), 1, kMostPixelsOfASide));
      width = static_cast<int>(count_of(field->at("width"), 1, kMostPixelsOfASide));
    } else {
      height = width = static_cast<int>(count_of(*field, 1, kMostPixelsOfASide));
    }
    return std::pair(height, width);
  }

 private:
  const Json& json_;
};

void read_budget(const Fields& fields, Config& config) {
  constexpr int64_t kMost = int64_t{1} << 31;
  if (const Json* size = fields.find("size")) {
    const Fields inner(*size);
    for (const char* name : {"shortest_edge", "min_pixels"}) inner.count(name, config.min_pixels, 1, kMost);
    for (const char* name : {"longest_edge", "max_pixels"}) inner.count(name, config.max_pixels, 1, kMost);
  }
  fields.count("min_pixels", config.min_pixels, 1, kMost);
  fields.count("max_pixels", config.max_pixels, 1, kMost);
}

// "size" in all its forms.
void read_size(const Fields& fields, Config& config) {
  if (config.size_rule == SizeRule::kPixelBudget) return read_budget(fields, config);
  const Json* size = fields.find("size");
  if (!size) return;
  if (!size->is_object()) {  // of old files
    if (config.size_rule == SizeRule::kShortestEdge || config.size_rule == SizeRule::kInside ||
        config.size_rule == SizeRule::kLongestEdge) {
      config.edge = static_cast<int>(Fields::count_of(*size, 1, kMostPixelsOfASide));
    } else {
      config.height = config.width = static_cast<int>(Fields::count_of(*size, 1, kMostPixelsOfASide));
    }
    return;
  }
  const Fields inner(*size);
  const bool is_exact = inner.find("height") && inner.find("width");
  const bool has_short = inner.find("shortest_edge") != nullptr, has_long = inner.find("longest_edge") != nullptr;
  if (is_exact + has_short + has_long != 1) {
    throw Error(ErrorCode::kUnsupported,
                cat(size->place(), " is not one of {height, width}, {shortest_edge} and {longest_edge}"));
  }
  if (is_exact) {
    inner.side("height", config.height);
    inner.side("width", config.width);
    if (config.size_rule == SizeRule::kShortestEdge) config.size_rule = SizeRule::kExact;
    if (config.size_rule != SizeRule::kInside) return;
    if (config.height != config.width) {
      throw Error(ErrorCode::kUnsupported,
                  cat(size->place(), " is ", config.height, " x ", config.width, ", expected a square"));
    }
    config.edge = config.height;
    return;
  }
  inner.side(has_short ? "shortest_edge" : "longest_edge", config.edge);
  const bool takes_long = config.size_rule == SizeRule::kLongestEdge || config.size_rule == SizeRule::kInside ||
                          config.cut == CutRule::kSplit;
  if (takes_long != has_long) {
    throw Error(ErrorCode::kUnsupported, cat(size->place(), " has ", has_long ? "'longest_edge'" : "'shortest_edge'",
                                             ", which ", config.kind, " does not take"));
  }
  if (has_short) config.size_rule = SizeRule::kShortestEdge;
}

void read_patches(const Fields& fields, Config& config) {
  if (const auto patch = fields.height_and_width("patch_size")) {
    if (patch->first != patch->second)
      throw Error(ErrorCode::kUnsupported, "patches that are not square are not supported");
    config.patch = patch->first;
  }
  fields.side("encoder_patch_size", config.patch);
  fields.count("merge_size", config.merge, 1, 64);
  fields.count("downsample_factor", config.merge, 1, 64);
  fields.count("temporal_patch_size", config.temporal_patch, 1, 64);
  fields.count("max_num_patches", config.max_patches, 1, 1 << 20);
  fields.count("min_image_tokens", config.min_tokens, 1, 1 << 20);
  fields.count("max_image_tokens", config.max_tokens, 1, 1 << 20);
}

void read_tiles(const Fields& fields, Config& config) {
  for (const char* name : {"min_patches", "min_tiles"}) fields.count(name, config.min_tiles, 1, 1024);
  for (const char* name : {"max_patches", "max_tiles"}) fields.count(name, config.max_tiles, 1, 1024);
  fields.side("tile_size", config.tile);
  if (const Json* most = fields.find("max_image_size")) Fields(*most).side("longest_edge", config.tile);
  config.overview = fields.flag("use_thumbnail", config.overview);
  if (const Json* tolerance = fields.find("max_pixels_tolerance")) config.tolerance = tolerance->as_number();
  if (config.kind == "GotOcr2ImageProcessor" && fields.flag("crop_to_patches", false)) config.cut = CutRule::kTiles;
  if (config.kind == "Gemma3ImageProcessor" && fields.flag("do_pan_and_scan", false)) config.cut = CutRule::kPanAndScan;
  if (config.cut == CutRule::kPanAndScan) {
    config.min_tiles = 2;
    config.max_tiles = 4;
    fields.count("pan_and_scan_max_num_crops", config.max_tiles, 1, 64);
    fields.side("pan_and_scan_min_crop_size", config.min_crop);
    if (const Json* ratio = fields.find("pan_and_scan_min_ratio_to_activate"))
      config.min_crop_ratio = ratio->as_number();
  }
  const bool splits = fields.flag("do_image_splitting", true);
  if (!splits && (config.cut == CutRule::kSplit || config.cut == CutRule::kPatchTiles))
    config.max_tiles = config.min_tiles = 1;
  if (config.min_tiles > config.max_tiles) {
    throw Error(ErrorCode::kBadFile,
                cat("the image processor wants at least ", config.min_tiles, " tiles and at most ", config.max_tiles));
  }
  if (const Json* points = fields.find("image_grid_pinpoints"); points && config.cut == CutRule::kAnyResolution) {
    config.pinpoints.clear();
    for (const Json& point : points->as_array()) {
      const Json::Array& sides = point.as_array();
      if (sides.size() != 2) throw Error(ErrorCode::kBadFile, cat(point.place(), " is not a height and a width"));
      config.pinpoints.emplace_back(static_cast<int>(Fields::count_of(sides[0], 1, kMostPixelsOfASide)),
                                    static_cast<int>(Fields::count_of(sides[1], 1, kMostPixelsOfASide)));
    }
    if (config.pinpoints.empty()) throw Error(ErrorCode::kBadFile, cat(points->place(), " is empty"));
  }
}

void read_colours(const Fields& fields, Config& config) {
  fields.colours("image_mean", config.mean);
  fields.colours("image_std", config.std);
  if (const Json* rescale = fields.find("rescale_factor")) {
    config.rescale = rescale->as_number();
    if (!(config.rescale > 0) || !std::isfinite(config.rescale)) {
      throw Error(ErrorCode::kBadFile, cat(rescale->place(), " is ", config.rescale, ", expected more than 0"));
    }
  }
  for (const double std : config.std) {
    if (std == 0) throw Error(ErrorCode::kBadFile, "'image_std' of the image processor has a 0");
  }
  if (!fields.flag("do_rescale", true)) config.rescale = 0;
  if (!fields.flag("do_normalize", true)) {
    config.mean = {0, 0, 0};
    config.std = {1, 1, 1};
  }
}

// Below 384 pixels the middle is cut out of a larger picture, above the picture is bent.
void read_convnext(const Fields& fields, Config& config) {
  double part = 224.0 / 256;
  if (const Json* field = fields.find("crop_pct")) part = field->as_number();
  if (!(part > 0.1) || part > 1) throw Error(ErrorCode::kBadFile, cat("'crop_pct' is ", part, ", expected 0.1 to 1"));
  if (config.edge < 384) {
    config.crop = {config.edge, config.edge};
    config.edge = static_cast<int>(config.edge / part);
  } else {
    config.size_rule = SizeRule::kExact;
    config.height = config.width = config.edge;
  }
}

Json read_file(const std::filesystem::path& path) { return Json::load(path); }

}  // namespace

ImageProcessorConfig ImageProcessorConfig::of_kind(std::string_view kind) {
  ImageProcessorConfig config;
  std::string name(kind);
  if (name.ends_with("FeatureExtractor")) name = without_ending(name, "FeatureExtractor") + "ImageProcessor";
  if (name.ends_with("Pil")) config.arithmetic = ResizeArithmetic::kPillow;
  name = without_ending(without_ending(name, "Fast"), "Pil");
  for (const auto& [other, known] : kOtherNames) {
    if (name == other) name = known;
  }
  for (const auto& [known, defaults] : kKinds) {
    if (name != known) continue;
    config.kind = name;
    defaults(config);
    return config;
  }
  std::string all;
  for (const auto& entry : kKinds) all += (all.empty() ? "" : ", ") + std::string(entry.first);
  throw Error(ErrorCode::kUnsupported, cat("the image processor '", kind, "' is not supported; known: ", all));
}

ImageProcessorConfig ImageProcessorConfig::of_json(const Json& json) {
  const Json* kind = json.find("image_processor_type");
  if (!kind) kind = json.find("feature_extractor_type");
  if (!kind) throw Error(ErrorCode::kBadFile, cat(json.place(), " has no 'image_processor_type'"));
  ImageProcessorConfig config = of_kind(kind->as_text());
  const Fields fields(json);
  if (const Json* filter = fields.find("resample")) {
    config.filter = static_cast<ResizeFilter>(Fields::count_of(*filter, 0, 5));
  }
  read_size(fields, config);
  read_patches(fields, config);
  read_tiles(fields, config);
  read_colours(fields, config);
  if (config.crop || fields.flag("do_center_crop", false)) {
    if (const auto crop = fields.height_and_width("crop_size")) config.crop = crop;
  }
  if (!fields.flag("do_center_crop", true)) config.crop.reset();
  if (config.kind == "ConvNextImageProcessor") read_convnext(fields, config);
  if (config.kind == "LlavaImageProcessor") config.pad_to_square = fields.flag("do_pad", false);
  if (config.kind == "SamImageProcessor") {
    if (const auto pad = fields.height_and_width("pad_size")) config.pad = pad;
    if (!fields.flag("do_pad", true)) config.pad.reset();
  }
  if (!fields.flag("do_resize", true)) {
    if (config.cut != CutRule::kWhole) {
      throw Error(ErrorCode::kUnsupported, cat("'do_resize' of ", config.kind, " is false, which is not supported"));
    }
    config.size_rule = SizeRule::kAsIs;
  }
  // Its processor says so with every picture, whatever the file says.
  if (json.get("processor_class", "") == "InternVLProcessor") config.cut = CutRule::kTiles;
  return config;
}

bool ImageProcessorConfig::is_in(const std::filesystem::path& folder) {
  return std::filesystem::exists(folder / "preprocessor_config.json") ||
         (std::filesystem::exists(folder / "processor_config.json") &&
          read_file(folder / "processor_config.json").find("image_processor"));
}

ImageProcessorConfig ImageProcessorConfig::load(const std::filesystem::path& folder) {
  const auto of_processor = folder / "processor_config.json", of_images = folder / "preprocessor_config.json";
  const Json processor = std::filesystem::exists(of_processor) ? read_file(of_processor) : Json::parse("{}", "none");
  const Json* inner = processor.find("image_processor");
  ImageProcessorConfig config = of_json(inner && inner->is_object() ? *inner : read_file(of_images));
  if (processor.get("processor_class", "") == "InternVLProcessor") config.cut = CutRule::kTiles;
  if (config.kind == "PixtralImageProcessor") {  // whose processor overrules the patches
    const Fields fields(processor);
    fields.side("patch_size", config.patch);
    fields.count("spatial_merge_size", config.merge, 1, 64);
  }
  return config;
}

}  // namespace wick
