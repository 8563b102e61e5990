#include "formats/packed/awq.h"

#include "base/checked.h"
#include "formats/group_weights.h"

namespace wick {
namespace {

constexpr int64_t kPerWord = 8;
constexpr int kShift[kPerWord] = {0, 16, 4, 20, 8, 24, 12, 28};  // where output 0, 1, ... of a word lies

}  // namespace

LoadedWeight assemble_awq(const AwqTensors& tensors, const QuantConfig& config, std::string_view name) {
  const Tensor& words = tensors.qweight;
  if (!words.defined() || words.dtype() != DType::kI32 || words.rank() != 2) {
    throw Error(ErrorCode::kBadFile, cat(name, ".qweight is not an i32 matrix"));
  }
  const int64_t in = words.dim(0), row_words = words.dim(1), out = row_words * kPerWord;
  if (in == 0 || out == 0 || in % kGroupBlock != 0) {
    throw Error(ErrorCode::kUnsupported, cat(name, ".qweight ", words.shape(), " stands for [", out, ", ", in,
                                             "], whose inputs are not a multiple of ", kGroupBlock));
  }
  const int64_t group_size = config.group_size < 0 ? in : config.group_size;
  const int64_t groups = ceil_div(in, group_size);
  check_part(name, "qzeros", tensors.qzeros, DType::kI32, {groups, row_words});
  if (!tensors.scales.defined() || tensors.scales.shape() != Shape{groups, out}) {
    check_part(name, "scales", tensors.scales, DType::kF16, {groups, out});
  }
  const auto* weights = reinterpret_cast<const uint32_t*>(words.raw());
  const auto* zeros = reinterpret_cast<const uint32_t*>(tensors.qzeros.raw());
  const auto unpack = [row_words](const uint32_t* from, int64_t row, int64_t output) {
    return from[row * row_words + output / kPerWord] >> kShift[output % kPerWord] & 15u;
  };
  return build_groups<BlockGroup4>(
      DType::kGroup4, in, out, group_inputs(name, {}, in, groups, group_size), scale_bits(name, tensors.scales),
      [&](int64_t i, int64_t o) { return static_cast<uint8_t>(unpack(weights, i, o)); },
      [&](int64_t group, int64_t o) { return unpack(zeros, group, o); });
}

}  // namespace wick
