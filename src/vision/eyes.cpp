#include "vision/eyes.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/text.h"
#include "ops/view.h"

namespace wick {
namespace {

// Of Qwen3-VL where no file says otherwise.
constexpr int64_t kVideoMinPixels = 4096, kVideoMaxPixels = 25165824;
constexpr int64_t kMostPixels = int64_t{1} << 30;

bool is_same(const Picture& a, const Picture& b) {
  return a.width == b.width && a.height == b.height && a.rgb == b.rgb;
}

bool is_same(const Visual& a, const Visual& b) {
  return is_same(a.picture, b.picture) && std::equal(a.frames.begin(), a.frames.end(), b.frames.begin(), b.frames.end(),
                                                     [](const VideoFrame& x, const VideoFrame& y) {
                                                       return x.seconds == y.seconds && is_same(x.picture, y.picture);
                                                     });
}

bool is_same(const SightOptions& a, const SightOptions& b) {
  return a.min_pixels == b.min_pixels && a.max_pixels == b.max_pixels;
}

size_t hash_of(const Visual& visual) {
  const auto of_picture = [](const Picture& picture) {
    return std::hash<std::string_view>()({reinterpret_cast<const char*>(picture.rgb.data()), picture.rgb.size()});
  };
  size_t hash = of_picture(visual.picture);
  for (const VideoFrame& frame : visual.frames) hash = (hash ^ of_picture(frame.picture)) * 0x9E3779B97F4A7C15u;
  return hash;
}

int64_t bytes_of_all(const Visual& visual, const std::vector<InputEmbeddings>& rows) {
  int64_t bytes = std::ssize(visual.picture.rgb);
  for (const VideoFrame& frame : visual.frames) bytes += std::ssize(frame.picture.rgb);
  for (const InputEmbeddings& part : rows) {
    bytes += part.rows.numel() * static_cast<int64_t>(sizeof(float)) * (1 + std::ssize(part.deep));
  }
  return bytes;
}

ImageProcessorConfig load_config(const std::filesystem::path& folder, const std::string& name) {
  if (folder.empty() || !ImageProcessorConfig::is_in(folder)) {
    throw Error(ErrorCode::kUnsupported,
                cat(name, " has no preprocessor_config.json beside it, which says how pictures are prepared"));
  }
  return ImageProcessorConfig::load(folder);
}

}  // namespace

int64_t Sight::all_rows() const { return std::accumulate(rows.begin(), rows.end(), int64_t{0}); }

Eyes::Eyes(const VisionEncoder& encoder, const Tokenizer& tokenizer, const std::filesystem::path& folder,
           const std::string& name)
    : encoder_(encoder),
      config_(load_config(folder, name)),
      name_(name),
      placeholder_(encoder.facts(), tokenizer),
      video_min_pixels_(kVideoMinPixels),
      video_max_pixels_(kVideoMaxPixels) {
  const auto path = folder / "video_preprocessor_config.json";
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return;
  const Json video = Json::load(path);
  if (const Json* size = video.is_object() ? video.find("size") : nullptr; size && size->is_object()) {
    video_min_pixels_ = size->get("shortest_edge", video_min_pixels_);
    video_max_pixels_ = size->get("longest_edge", video_max_pixels_);
  }
  if (video_min_pixels_ < 1 || video_max_pixels_ < video_min_pixels_ || video_max_pixels_ > kMostPixels) {
    throw Error(ErrorCode::kBadFile, cat(path, ": size is from ", video_min_pixels_, " to ", video_max_pixels_));
  }
}

ImageProcessor Eyes::processor(const SightOptions& options) const {
  ImageProcessorConfig config = config_;
  if (!options.min_pixels && !options.max_pixels) return ImageProcessor(config);
  if (config.size_rule != SizeRule::kPixelBudget) {
    throw Error(ErrorCode::kInvalidArgument, cat(name_, " takes pictures of one size, whatever pixels are asked for"));
  }
  // The largest size is a limit: one that is asked for does not lift it.
  if (options.max_pixels) config.max_pixels = std::min(config.max_pixels, *options.max_pixels);
  config.min_pixels = options.min_pixels.value_or(std::min(config.min_pixels, config.max_pixels));
  if (config.min_pixels < 1 || config.max_pixels < config.min_pixels || config.max_pixels > kMostPixels) {
    throw Error(ErrorCode::kInvalidArgument, cat("pictures from ", config.min_pixels, " to ", config.max_pixels,
                                                 " pixels are asked for, expected 1 to ", kMostPixels));
  }
  return ImageProcessor(config);
}

Eyes::Prepared Eyes::prepare(const Visual& visual, const SightOptions& options) const {
  if (visual.is_video()) return prepare_video(visual, options);
  const PixelValues pixels = processor(options).process(visual.picture);
  Prepared prepared;
  if (encoder_.facts().takes_patches) {
    int64_t row = 0;
    for (const PatchGrid& grid : pixels.grids) {
      prepared.parts.push_back(
          {narrow(pixels.values, 0, row, grid.patches()).contiguous(), grid.time, grid.height, grid.width});
      row += grid.patches();
    }
  } else {
    for (int64_t tile = 0; tile < pixels.tiles(); ++tile) {
      VisionInput part;
      part.values = narrow(pixels.values, 0, tile, 1).contiguous();
      prepared.parts.push_back(std::move(part));
    }
  }
  for (const VisionInput& part : prepared.parts) prepared.sight.rows.push_back(encoder_.rows_of(part));
  prepared.sight.text = placeholder_.of_picture(prepared.sight.rows, pixels);
  return prepared;
}

Eyes::Prepared Eyes::prepare_video(const Visual& visual, const SightOptions& options) const {
  if (placeholder_.video().empty()) throw Error(ErrorCode::kUnsupported, cat(name_, " takes pictures and no videos"));
  std::vector<Picture> frames;
  for (const VideoFrame& frame : visual.frames) frames.push_back(frame.picture);
  const PixelValues pixels =
      processor({}).process_video(frames, options.min_pixels.value_or(video_min_pixels_),
                                  std::min(options.max_pixels.value_or(video_max_pixels_), video_max_pixels_), true);
  Prepared prepared;
  const PatchGrid grid = pixels.grids.front();
  const int64_t each = int64_t{grid.height} * grid.width, joined = encoder_.facts().frames_joined;
  std::vector<double> seconds;
  for (int64_t time = 0; time < grid.time; ++time) {
    VisionInput part{narrow(pixels.values, 0, time * each, each).contiguous(), 1, grid.height, grid.width};
    prepared.sight.rows.push_back(encoder_.rows_of(part));
    prepared.parts.push_back(std::move(part));
    const auto at = [&](int64_t frame) {  // an odd one out was repeated
      return visual.frames[static_cast<size_t>(std::min(frame, std::ssize(visual.frames) - 1))].seconds;
    };
    seconds.push_back((at(time * joined) + at(time * joined + joined - 1)) / 2);
  }
  prepared.sight.text = placeholder_.of_video(prepared.sight.rows, seconds);
  return prepared;
}

Sight Eyes::look(const Visual& visual, const SightOptions& options) const { return prepare(visual, options).sight; }

std::vector<InputEmbeddings> Eyes::find(size_t hash, const Visual& visual, const SightOptions& options,
                                        std::string_view salt) const {
  const std::lock_guard lock(mutex_);
  for (auto kept = kept_.begin(); kept != kept_.end(); ++kept) {
    // Who makes pictures of one hash must not show them to others.
    const bool fits =
        kept->hash == hash && kept->salt == salt && is_same(kept->options, options) && is_same(*kept->visual, visual);
    if (!fits) continue;
    kept_.splice(kept_.begin(), kept_, kept);
    return kept_.front().rows;
  }
  return {};
}

void Eyes::keep(Kept kept) const {
  if (kept.bytes > kKeptBytes) return;
  const std::lock_guard lock(mutex_);
  kept_bytes_ += kept.bytes;
  kept_.push_front(std::move(kept));
  while (kept_bytes_ > kKeptBytes) {
    kept_bytes_ -= kept_.back().bytes;
    kept_.pop_back();
  }
}

std::vector<InputEmbeddings> Eyes::encode(const VisualRef& visual, const SightOptions& options,
                                          std::string_view salt) const {
  const size_t hash = hash_of(*visual);
  std::vector<InputEmbeddings> rows = find(hash, *visual, options, salt);
  if (!rows.empty()) return rows;
  for (const VisionInput& part : prepare(*visual, options).parts) rows.push_back(encoder_.encode(part));
  keep({hash, visual, options, std::string(salt), rows, bytes_of_all(*visual, rows)});
  return rows;
}

}  // namespace wick
