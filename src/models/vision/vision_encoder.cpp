#include "models/vision/vision_encoder.h"

#include "base/checked.h"
#include "base/error.h"
#include "base/text.h"

namespace wick {
namespace {

Error bad(const VisionFacts& facts, const std::string& what) {
  return {ErrorCode::kInvalidArgument, cat("a picture for a ", facts.family, " ", what)};
}

}  // namespace

void VisionEncoder::check(const VisionInput& input) const {
  const Tensor& x = input.values;
  const VisionFacts& facts = facts_;
  if (!x.defined() || x.dtype() != DType::kF32 || x.numel() == 0 || x.device() != Device::cpu()) {
    throw bad(facts, cat("is ", x.defined() ? cat(x.dtype(), " ", x.shape()) : std::string("undefined"),
                         ", expected f32 on the host"));
  }
  if (!facts.takes_patches) {
    const bool fits = x.rank() == 4 && x.dim(1) == facts.channels && (facts.height == 0 || x.dim(2) == facts.height) &&
                      (facts.width == 0 || x.dim(3) == facts.width);
    if (!fits) {
      throw bad(facts, cat("is ", x.shape(), ", expected [tiles, ", facts.channels, ", ", facts.height, ", ",
                           facts.width, "]"));
    }
    return;
  }
  const auto area = checked_mul(input.rows, input.columns);
  const auto count = area ? checked_mul(*area, input.frames) : std::nullopt;
  if (x.rank() != 2 || x.dim(1) != facts.values || input.frames < 1 || input.rows < 1 || input.columns < 1 ||
      count != x.dim(0)) {
    throw bad(facts, cat("is ", x.shape(), " patches in ", input.frames, " x ", input.rows, " x ", input.columns,
                         ", expected as many, of ", facts.values, " values"));
  }
  if (input.rows % facts.join != 0 || input.columns % facts.join != 0) {
    throw bad(facts, cat("has ", input.columns, " x ", input.rows, " patches, expected multiples of ", facts.join));
  }
}

}  // namespace wick
