#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "models/forward_batch.h"
#include "tensor/tensor.h"

namespace wick {

// A picture, or some frames of a video, as the model's processor prepares them.
struct VisionInput {
  // f32, on the host. Pixels [tiles, channels, height, width]; for models that take patches, those
  // [patches, values], in the processor's order.
  Tensor values;
  int64_t frames = 0, rows = 0, columns = 0;  // of patches; of pixels all are 0
};

// Of the decoder's vocabulary.
struct PictureTokens {
  int32_t picture = 0;                // stands in a prompt wherever a row of a picture goes
  std::optional<int32_t> video;       // of a video; empty: the model takes none
  std::optional<int32_t> begin, end;  // around a picture, where config.json names them
};

// What a chat with pictures has to know.
struct VisionFacts {
  std::string family;  // "qwen3_vl"
  PictureTokens tokens;
  bool takes_patches = false;            // else pixels
  int64_t channels = 3, patch_side = 0;  // pixels
  int64_t join = 1;                      // patches that become one row, in each direction
  int64_t frames_joined = 1;             // frames that become one
  int64_t height = 0, width = 0;         // of a tile of pixels; 0: any
  int64_t values = 0;                    // of a patch
};

// Makes of pictures what a decoder reads in the places of tokens. Immutable and thread-safe.
class VisionEncoder {
 public:
  virtual ~VisionEncoder() = default;

  const VisionFacts& facts() const { return facts_; }
  // How many rows `input` will be. Throws Error(kInvalidArgument) for what the model does not take.
  virtual int64_t rows_of(const VisionInput& input) const = 0;
  // The rows, for position 0. A picture's rows depend on it alone, bit for bit. Throws as rows_of() does.
  virtual InputEmbeddings encode(const VisionInput& input) const = 0;

 protected:
  // Throws unless the input is of the kind and size that the facts say.
  void check(const VisionInput& input) const;
  VisionFacts facts_;
};

}  // namespace wick
