#pragma once

#include <cstring>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "base/thread_pool.h"
#include "formats/empty_pages.h"
#include "formats/loaded_weight.h"
#include "quant/group_quants.h"
#include "tensor/create.h"

namespace wick {

// What GPTQ and AWQ share: codes with one scale and zero per group of inputs, turned into kGroup4 or kGroup8 rows.

inline constexpr int64_t kGroupBlock = 32;  // weights per block of kGroup4 and kGroup8

// Throws Error(kBadFile) unless the tensor is this dtype and shape.
void check_part(std::string_view name, std::string_view part, const Tensor& tensor, DType dtype, const Shape& shape);

// Scales [groups, out] as the bits of f16. Throws Error(kUnsupported) when one is not exactly an f16.
std::vector<uint16_t> scale_bits(std::string_view name, const Tensor& scales);

// The inputs sorted by group, and the group of every block of 32 of them.
struct InputGroups {
  std::vector<int64_t> order;        // empty: as they come
  std::vector<int64_t> block_group;  // [in / 32]
};
// From g_idx [in], or from equal groups when it is not defined. Throws Error(kBadFile) when a group does not exist or
// does not fill whole blocks.
InputGroups group_inputs(std::string_view name, const Tensor& g_idx, int64_t in, int64_t groups, int64_t group_size);

inline void store_codes(BlockGroup4& block, const uint8_t* codes) {
  for (int i = 0; i < 16; ++i) block.nibbles[i] = static_cast<uint8_t>(codes[i] | codes[i + 16] << 4);
}
inline void store_codes(BlockGroup8& block, const uint8_t* codes) { std::memcpy(block.quants, codes, kGroupBlock); }

// code(input, output) and zero(group, output) unpack the file's words.
template <typename Block, typename Code, typename Zero>
LoadedWeight build_groups(DType dtype, int64_t in, int64_t out, const InputGroups& inputs,
                          const std::vector<uint16_t>& scales, const Code& code, const Zero& zero) {
  constexpr int64_t kOutputs = 16;  // whose words share a cache line
  LoadedWeight loaded{empty_pages({out, in}, dtype), {}};
  const int64_t blocks = in / kGroupBlock;
  parallel_for(out, kOutputs, [&](int64_t begin, int64_t end) {
    uint8_t codes[kOutputs][kGroupBlock];
    for (int64_t b = 0; b < blocks; ++b) {
      const int64_t group = inputs.block_group[b];
      for (int64_t i = 0; i < kGroupBlock; ++i) {
        const int64_t input = inputs.order.empty() ? b * kGroupBlock + i : inputs.order[b * kGroupBlock + i];
        for (int64_t o = begin; o < end; ++o) codes[o - begin][i] = code(input, o);
      }
      for (int64_t o = begin; o < end; ++o) {
        Block block;
        block.scale = scales[group * out + o];
        block.zero = f32_to_f16_bits(static_cast<float>(zero(group, o)));
        store_codes(block, codes[o - begin]);
        std::memcpy(loaded.weight.raw() + (o * blocks + b) * static_cast<int64_t>(sizeof(Block)), &block,
                    sizeof(Block));
      }
    }
  });
  if (!inputs.order.empty()) loaded.input_order = from_vector(inputs.order, {in});
  return loaded;
}

}  // namespace wick
