#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "media/processors/image_processor.h"
#include "models/vision/vision_encoder.h"
#include "vision/placeholder.h"
#include "vision/visual.h"

namespace wick {

// What is asked of pictures besides the model's own settings.
struct SightOptions {
  std::optional<int64_t> min_pixels, max_pixels;  // of models that take any size
};

// A picture on its way into a prompt.
struct Sight {
  std::string text;           // what stands there for it
  std::vector<int64_t> rows;  // of its parts, in order
  int64_t all_rows() const;
};

// Reads pictures for a language model: prepares them as the model's own processor does, says what they become in a
// prompt, and encodes them. What was encoded is kept, and found again by the picture's bytes. Thread-safe.
class Eyes {
 public:
  // `encoder` must live longer. `folder` holds the files of the processor; `name` is the model's, for messages. Throws
  // Error(kUnsupported) when they are not there, what reading them throws, and what Placeholder throws.
  Eyes(const VisionEncoder& encoder, const Tokenizer& tokenizer, const std::filesystem::path& folder,
       const std::string& name);

  const Placeholder& placeholder() const { return placeholder_; }
  // What a picture or video becomes, which takes no encoding. Throws Error(kInvalidArgument) for what the processor
  // does not take, Error(kUnsupported) for videos where the model takes none.
  Sight look(const Visual& visual, const SightOptions& options) const;
  // The rows of all its parts, each for position 0. Only those of one salt share what is kept.
  std::vector<InputEmbeddings> encode(const VisualRef& visual, const SightOptions& options,
                                      std::string_view salt) const;

  static constexpr int64_t kKeptBytes = int64_t{256} << 20;  // of what was encoded, with its pictures

 private:
  struct Prepared {
    Sight sight;
    std::vector<VisionInput> parts;
  };
  struct Kept {
    size_t hash;
    VisualRef visual;
    SightOptions options;
    std::string salt;
    std::vector<InputEmbeddings> rows;
    int64_t bytes;
  };
  Prepared prepare(const Visual& visual, const SightOptions& options) const;
  Prepared prepare_video(const Visual& visual, const SightOptions& options) const;
  ImageProcessor processor(const SightOptions& options) const;
  std::vector<InputEmbeddings> find(size_t hash, const Visual& visual, const SightOptions& options,
                                    std::string_view salt) const;
  void keep(Kept kept) const;

  const VisionEncoder& encoder_;
  ImageProcessorConfig config_;
  std::string name_;
  Placeholder placeholder_;
  int64_t video_min_pixels_, video_max_pixels_;  // of all frames together

  mutable std::mutex mutex_;
  mutable std::list<Kept> kept_;  // the one used last in front
  mutable int64_t kept_bytes_ = 0;
};

}  // namespace wick
