#include "vision/segmenter.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "ops/layers/resample2d.h"
#include "ops/view.h"

namespace wick {

int64_t PictureMask::area() const { return std::count(inside.begin(), inside.end(), 255); }

Segmenter::Segmenter(std::unique_ptr<Sam> model, ImageProcessorConfig processor)
    : model_(std::move(model)), processor_(std::move(processor)) {}

std::unique_ptr<Segmenter> Segmenter::load(const std::filesystem::path& folder, const ModelOptions& options) {
  const WeightSource source(Checkpoint::open(folder));
  auto model = Sam::load(source, options);
  const std::filesystem::path files = source.checkpoint().folder();
  ImageProcessorConfig processor = ImageProcessorConfig::is_in(files)
                                       ? ImageProcessorConfig::load(files)
                                       : ImageProcessorConfig::of_kind("SamImageProcessor");
  const auto side = static_cast<int>(model->side());
  if (processor.size_rule != SizeRule::kLongestEdge || processor.edge != side) {
    throw Error(ErrorCode::kUnsupported,
                cat(files, ": the processor does not make the longer side ", side, " pixels, as the model wants"));
  }
  processor.pad = {side, side};
  return std::unique_ptr<Segmenter>(new Segmenter(std::move(model), std::move(processor)));
}

Segmenter::Seen Segmenter::see(const Picture& picture) const {
  const PixelValues pixels = processor_.process(picture);
  return {model_->encode(pixels.values), picture.width, picture.height, pixels.width, pixels.height};
}

std::vector<PictureMask> Segmenter::segment(const Seen& seen, const SamPrompt& prompt) const {
  const float across = static_cast<float>(seen.encoded_width) / static_cast<float>(seen.width);
  const float down = static_cast<float>(seen.encoded_height) / static_cast<float>(seen.height);
  const auto check = [&](float x, float y) {
    if (x >= 0 && y >= 0 && x <= static_cast<float>(seen.width) && y <= static_cast<float>(seen.height)) return;
    throw Error(ErrorCode::kInvalidArgument, cat("the point ", x, ",", y, " lies outside of the picture of ",
                                                 seen.width, " x ", seen.height, " pixels"));
  };
  SamPrompt scaled = prompt;
  for (SamPrompt::Point& point : scaled.points) {
    check(point.x, point.y);
    point.x *= across;
    point.y *= down;
  }
  for (std::array<float, 4>& box : scaled.boxes) {
    check(box[0], box[1]);
    check(box[2], box[3]);
    for (size_t i = 0; i < 4; ++i) box[i] *= i % 2 == 0 ? across : down;
  }
  const Sam::Masks made = model_->segment(seen.encoded, scaled);
  const std::vector<float> ious = made.ious.to_vector<float>();
  std::vector<PictureMask> masks;
  for (int64_t i = 0; i < made.scores.dim(0); ++i) {
    const Tensor score =
        reshape(narrow(made.scores, 0, i, 1), {1, 1, made.scores.dim(1), made.scores.dim(2)}).contiguous();
    const Tensor square = upsample_bilinear2d(score, {model_->side(), model_->side()});
    const Tensor part = narrow(narrow(square, 2, 0, seen.encoded_height), 3, 0, seen.encoded_width).contiguous();
    PictureMask mask;
    for (const float value : upsample_bilinear2d(part, {seen.height, seen.width}).to_vector<float>()) {
      mask.inside.push_back(value > 0 ? 255 : 0);
    }
    mask.iou = ious[static_cast<size_t>(i)];
    masks.push_back(std::move(mask));
  }
  std::stable_sort(masks.begin(), masks.end(),
                   [](const PictureMask& a, const PictureMask& b) { return a.iou > b.iou; });
  return masks;
}

}  // namespace wick
