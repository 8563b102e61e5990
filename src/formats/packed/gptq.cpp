#include "formats/packed/gptq.h"

#include "base/checked.h"
#include "formats/group_weights.h"

namespace wick {

LoadedWeight assemble_gptq(const GptqTensors& tensors, const QuantConfig& config, std::string_view name) {
  const int bits = config.bits;
  const int64_t per_word = 32 / bits;
  const Tensor& words = tensors.qweight;
  if (!words.defined() || words.dtype() != DType::kI32 || words.rank() != 2) {
    throw Error(ErrorCode::kBadFile, cat(name, ".qweight is not an i32 matrix"));
  }
  const int64_t in = words.dim(0) * per_word, out = words.dim(1);
  if (in == 0 || out == 0 || in % kGroupBlock != 0 || out % per_word != 0) {
    throw Error(ErrorCode::kUnsupported, cat(name, ".qweight ", words.shape(), " stands for [", out, ", ", in,
                                             "], whose inputs are not a multiple of ", kGroupBlock));
  }
  const int64_t group_size = config.group_size < 0 ? in : config.group_size;
  const int64_t groups = ceil_div(in, group_size);
  check_part(name, "qzeros", tensors.qzeros, DType::kI32, {groups, out / per_word});
  if (!tensors.scales.defined() || tensors.scales.shape() != Shape{groups, out}) {
    check_part(name, "scales", tensors.scales, DType::kF16, {groups, out});
  }
  const InputGroups inputs = group_inputs(name, tensors.g_idx, in, groups, group_size);
  const auto scales = scale_bits(name, tensors.scales);

  const auto* weights = reinterpret_cast<const uint32_t*>(words.raw());
  const auto* zeros = reinterpret_cast<const uint32_t*>(tensors.qzeros.raw());
  const int64_t words_per_group = out / per_word;
  const uint32_t offset = config.zero_offset ? 1 : 0;
  const auto build = [&]<typename Block, int kBits>(DType dtype) {
    constexpr int64_t kPerWord = 32 / kBits;
    constexpr uint32_t kMask = (1u << kBits) - 1;
    return build_groups<Block>(
        dtype, in, out, inputs, scales,
        [&](int64_t i, int64_t o) {
          return static_cast<uint8_t>(weights[i / kPerWord * out + o] >> (i % kPerWord * kBits) & kMask);
        },
        [&](int64_t group, int64_t o) {
          return (zeros[group * words_per_group + o / kPerWord] >> (o % kPerWord * kBits) & kMask) + offset;
        });
  };
  return bits == 4 ? build.template operator()<BlockGroup4, 4>(DType::kGroup4)
                   : build.template operator()<BlockGroup8, 8>(DType::kGroup8);
}

}  // namespace wick
