#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "media/processors/image_processor.h"
#include "models/vision/picture_model.h"
#include "tokenizer/tokenizer.h"

namespace wick {

// A model of pictures with its processor and, for CLIP and SigLIP, its tokenizer. Immutable and thread-safe.
class PictureReader {
 public:
  // A Hugging Face folder. Throws what PictureModel::load, ImageProcessorConfig::load and Tokenizer::load throw.
  static std::unique_ptr<PictureReader> load(const std::filesystem::path& folder, const ModelOptions& options = {});

  const PictureModel& model() const { return *model_; }
  // One vector each, f32 [pictures, width], on the host; each depends on its picture alone. Throw
  // Error(kInvalidArgument) where there are none.
  Tensor embed(std::span<const Picture> pictures) const;
  Tensor embed_texts(std::span<const std::string> texts) const;
  // Chances of the model's own labels, f32 [pictures, labels].
  Tensor classify(std::span<const Picture> pictures) const;
  // Chances that each text is what a picture shows, f32 [pictures, texts].
  Tensor classify(std::span<const Picture> pictures, std::span<const std::string> texts) const;

 private:
  PictureReader(std::unique_ptr<PictureModel> model, ImageProcessorConfig processor);
  Tensor pixels(const Picture& picture) const;
  std::vector<int32_t> tokens(const std::string& text) const;

  std::unique_ptr<PictureModel> model_;
  ImageProcessor processor_;
  std::optional<Tokenizer> tokenizer_;
  int32_t pad_token_ = -1;  // texts are filled up with it; below 0: they are not
};

}  // namespace wick
