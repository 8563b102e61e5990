#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "media/processors/image_processor.h"
#include "models/vision/sam.h"

namespace wick {

// Part of a picture: 255 where it is, else 0.
struct PictureMask {
  std::vector<uint8_t> inside;  // [height, width]
  float iou = 0;                // how good the model takes it for
  int64_t area() const;         // pixels
};

// Segment Anything with its processor. Immutable and thread-safe.
class Segmenter {
 public:
  // A Hugging Face folder. Throws what Sam::load and ImageProcessorConfig::load throw.
  static std::unique_ptr<Segmenter> load(const std::filesystem::path& folder, const ModelOptions& options = {});

  // A picture, encoded once for any number of prompts.
  struct Seen {
    Tensor encoded;
    int width = 0, height = 0;                  // of the picture
    int encoded_width = 0, encoded_height = 0;  // of it within the square
  };
  Seen see(const Picture& picture) const;
  // Masks of the picture's size, the best one first; points and boxes are in its pixels. Throws Error(kInvalidArgument)
  // for those outside, and for none.
  std::vector<PictureMask> segment(const Seen& seen, const SamPrompt& prompt) const;

 private:
  Segmenter(std::unique_ptr<Sam> model, ImageProcessorConfig processor);

  std::unique_ptr<Sam> model_;
  ImageProcessor processor_;
};

}  // namespace wick
