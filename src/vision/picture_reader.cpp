#include "vision/picture_reader.h"

#include "base/error.h"
#include "base/text.h"
#include "ops/rearrange.h"
#include "ops/softmax.h"

namespace wick {

PictureReader::PictureReader(std::unique_ptr<PictureModel> model, ImageProcessorConfig processor)
    : model_(std::move(model)), processor_(std::move(processor)) {}

std::unique_ptr<PictureReader> PictureReader::load(const std::filesystem::path& folder, const ModelOptions& options) {
  const WeightSource source(Checkpoint::open(folder));
  auto model = PictureModel::load(source, options);
  const std::filesystem::path files = source.checkpoint().folder();
  if (!ImageProcessorConfig::is_in(files)) {
    throw Error(ErrorCode::kUnsupported,
                cat(files, " has no preprocessor_config.json, which says how pictures are prepared"));
  }
  ImageProcessorConfig processor = ImageProcessorConfig::load(files);
  if (processor.layout != PixelLayout::kPlanes || processor.cut != CutRule::kWhole) {
    throw Error(ErrorCode::kUnsupported, cat(files, ": a ", processor.kind, " gives other than whole pictures"));
  }
  std::unique_ptr<PictureReader> reader(new PictureReader(std::move(model), std::move(processor)));
  if (!reader->model_->texts()) return reader;
  if (reader->model_->family() == "siglip") {
    // What its texts are cleaned of stands in the tokenizer.json alone.
    if (!exists(files / "tokenizer.json")) {
      throw Error(ErrorCode::kUnsupported, cat(files, " has no tokenizer.json, which a siglip needs"));
    }
    reader->pad_token_ = static_cast<int32_t>(source.config().at("text_config").get("pad_token_id", int64_t{1}));
  }
  reader->tokenizer_ = Tokenizer::load(files);
  return reader;
}

Tensor PictureReader::pixels(const Picture& picture) const { return processor_.process(picture).values; }

std::vector<int32_t> PictureReader::tokens(const std::string& text) const {
  const int64_t most = model_->texts()->config().positions;
  EncodeOptions options;
  options.special = SpecialTokens::kAsText;
  options.truncation = Truncation{most};
  std::vector<int32_t> tokens = tokenizer_->encode(text, options);
  if (pad_token_ >= 0) tokens.resize(static_cast<size_t>(most), pad_token_);
  return tokens;
}

Tensor PictureReader::embed(std::span<const Picture> pictures) const {
  if (pictures.empty()) throw Error(ErrorCode::kInvalidArgument, "there are no pictures");
  std::vector<Tensor> vectors;
  for (const Picture& picture : pictures) vectors.push_back(model_->embed(pixels(picture)));
  return concat(vectors, 0);
}

Tensor PictureReader::embed_texts(std::span<const std::string> texts) const {
  std::vector<std::vector<int32_t>> all;
  for (const std::string& text : texts) all.push_back(tokenizer_ ? tokens(text) : std::vector<int32_t>());
  return model_->embed_texts(all);
}

Tensor PictureReader::classify(std::span<const Picture> pictures) const {
  if (pictures.empty()) throw Error(ErrorCode::kInvalidArgument, "there are no pictures");
  std::vector<Tensor> scores;
  for (const Picture& picture : pictures) scores.push_back(model_->classify(pixels(picture)));
  return softmax(concat(scores, 0), -1);
}

Tensor PictureReader::classify(std::span<const Picture> pictures, std::span<const std::string> texts) const {
  const Tensor written = embed_texts(texts);
  return model_->probabilities(model_->match(embed(pictures), written));
}

}  // namespace wick
