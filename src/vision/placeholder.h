#pragma once

#include <span>
#include <string>
#include <vector>

#include "media/processors/image_processor.h"
#include "models/vision/vision_encoder.h"
#include "tokenizer/tokenizer.h"

namespace wick {

// How a family writes pictures into a prompt: what its chat templates leave for one, and what that becomes. Spellings
// of control tokens are those of the tokenizer.
class Placeholder {
 public:
  // Throws Error(kBadFile) when the tokenizer lacks a token that the family writes.
  Placeholder(const VisionFacts& facts, const Tokenizer& tokenizer);

  // What stands in a rendered prompt for a picture, and for a video; the latter is empty where there are none.
  const std::string& picture() const { return picture_; }
  const std::string& video() const { return video_; }
  // What it becomes, with as many picture tokens as there are rows. `rows`: of each part of the picture: tiles row by
  // row, then the whole. Throws Error(kUnsupported) for parts that the family does not write.
  std::string of_picture(std::span<const int64_t> rows, const PixelValues& pixels) const;
  // `seconds`: of each part of the video.
  std::string of_video(std::span<const int64_t> rows, std::span<const double> seconds) const;

 private:
  enum class Style : uint8_t { kPlain, kQwen, kGemma3, kIdefics3, kInternVl, kLfm2 };
  static Style style_of(const std::string& family);
  std::string repeated(int64_t count) const;
  std::string tiles(std::span<const int64_t> rows, const PixelValues& pixels) const;

  std::string family_;
  Style style_;
  std::string picture_, video_;
  std::string row_, video_row_;  // the token of one row
  std::string begin_, end_;
};

}  // namespace wick
