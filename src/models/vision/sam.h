#pragma once

#include <memory>
#include <span>
#include <vector>

#include "models/load_model.h"
#include "models/vision/sam_decoder.h"
#include "models/vision/sam_encoder.h"

namespace wick {

bool is_sam(const Json& config);

// Segment Anything: what lies at a point, or inside a box. A picture is encoded once, and asked as often as wanted.
// Immutable and thread-safe.
class Sam {
 public:
  // Names and settings are checked first; throws Error(kBadFile) naming the tensor or the setting at fault,
  // Error(kUnsupported) for other models.
  static std::unique_ptr<Sam> load(const WeightSource& source, const ModelOptions& options = {});

  int64_t side() const { return encoder_.config().side; }  // of the square of pixels that it takes
  // pixels f32 [1, 3, side, side] to f32 [channels, rows, columns]. Throws Error(kInvalidArgument) for others.
  Tensor encode(const Tensor& pixels) const { return encoder_.encode(pixels); }

  struct Masks {
    Tensor scores;  // f32 [3, 4 * rows, 4 * columns]: above 0 where a mask is
    Tensor ious;    // f32 [3]: how good the model takes each for
  };
  // Three masks of what the prompt means, from the part to the whole. Throws Error(kInvalidArgument) for a prompt
  // without points and boxes, or one of another picture.
  Masks segment(const Tensor& encoded, const SamPrompt& prompt) const {
    auto [scores, ious] = decoder_.segment(encoded, prompt);
    return {scores, ious};
  }

 private:
  struct Settings;
  static Settings read(const WeightSource& source);
  Sam(const Settings& settings, WeightLoader& loader);

  SamEncoder encoder_;
  SamDecoder decoder_;
};

}  // namespace wick
