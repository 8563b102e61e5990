#pragma once

#include "backends/cuda/quant/packed_product.cuh"

// A super-block of 16 rows of weights, of formats by 256, and of one row of x. The columns of the tensor cores' second
// operand are the 8 groups of the super-block: that of group i has the codes of x in column i and zeros in the others,
// so that the products of all groups come to lie side by side in one result.
namespace wick::cuda {

// In which order lanes have the columns of a group: words that the tensor cores take together are not neighbours, so
// that they can be loaded to where they are needed.
template <typename Format>
inline constexpr Order kOrderOf = Format::kPairs ? Order::kFour : Format::kOrder;

// Products of the codes of 16 rows with those of x, lane 4g + t: rows g and g + 8, of groups 2t and 2t + 1 or, if the
// format has two steps for a group, of their halves. own: the codes of x of group g that meet those of lane t.
template <typename Format>
struct RowDots {
  static constexpr int kFactor = Format::kPairs ? 16 : 1;  // of all

  int at[2][2 * Format::Scales::kSteps] = {};

  __device__ __forceinline__ RowDots(const uint8_t* upper, const uint8_t* lower, int g, int t, uint2 own) {
    constexpr bool kAligned = Format::kBytes % 16 == 0;
    int sums[2][4] = {};
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      if constexpr (Format::kPairs) {
        // Whole bytes are 16 times the codes of the second group and those of the first.
        const uint32_t b[2] = {g / 2 == j ? own.x : 0, g / 2 == j ? own.y : 0};
        uint32_t bytes[4], first[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          bytes[i] = Format::pair_word(i % 2 ? lower : upper, j, t, i / 2);
          first[i] = nibbles(bytes[i], 0);
        }
        mma_bytes<false>(sums[0], first, b[0], b[1]);
        mma_bytes<false>(sums[1], bytes, b[0], b[1]);
      } else {
        uint32_t up[Format::kWords], low[Format::kWords];
        Format::template load<kAligned>(upper, j, t, up);
        Format::template load<kAligned>(lower, j, t, low);
#pragma unroll
        for (int u = 0; u < 2; ++u) {
          uint32_t a[4];
          rows_of_codes<Format>(a, up, low, j, u, {}, {});
          const uint32_t b[2] = {g == 2 * j + u ? own.x : 0, g == 2 * j + u ? own.y : 0};
          if constexpr (Format::Scales::kSteps == 1) {
            mma_bytes<Format::kSigned>(sums[u], a, b[0], b[1]);
          } else {
#pragma unroll
            for (int w = 0; w < 2; ++w) mma_half_bytes(sums[w], a[2 * w], a[2 * w + 1], b[w]);
          }
        }
      }
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if constexpr (Format::kPairs) {
        at[i / 2][i % 2] = i % 2 ? sums[1][i] - sums[0][i] : sums[0][i] * 16;
      } else if constexpr (Format::Scales::kSteps == 1) {
        at[i / 2][i % 2] = sums[0][i] + sums[1][i];
      } else {
        at[i / 2][i % 2 * 2] = sums[0][i];
        at[i / 2][i % 2 * 2 + 1] = sums[1][i];
      }
    }
  }
};

// A super-block of 16 rows: what it comes to in row g or, if t is odd, in row g + 8. kSums: of how many parts of the
// super-block x_sums are, as many as the format needs or twice as many.
template <typename Format, int kSums>
__device__ __forceinline__ float multiply_rows(const uint8_t* upper, const uint8_t* lower, int g, int t, uint2 own,
                                               const int16_t* x_sums) {
  const LaneScales of[2] = {Format::scales_of_lane(upper, t), Format::scales_of_lane(lower, t)};
  const RowDots<Format> dots(upper, lower, g, t, own);
  int total[2], sums[2] = {};
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const uint32_t bytes = of[r].bytes;
    const auto& dot = dots.at[r];
    if constexpr (Format::Scales::kSteps == 1) {
      total[r] = byte_at(bytes, 0) * dot[0] + byte_at(bytes, 1) * dot[1];
      if constexpr (Format::kUsesSums && kSums == Format::kSums) {
        sums[r] = __dp2a_hi(*reinterpret_cast<const int*>(x_sums + 2 * t), static_cast<int>(bytes), 0);
      } else if constexpr (Format::kUsesSums) {
        const uint2 four = *reinterpret_cast<const uint2*>(x_sums + 4 * t);  // of both halves of two groups
        sums[r] =
            __dp2a_hi(static_cast<int>(__byte_perm(four.x, four.y, 0x5410)), static_cast<int>(bytes),
                      __dp2a_hi(static_cast<int>(__byte_perm(four.x, four.y, 0x7632)), static_cast<int>(bytes), 0));
      }
    } else {
      total[r] = signed_byte_at(bytes, 0) * dot[0] + signed_byte_at(bytes, 1) * dot[1] +
                 signed_byte_at(bytes, 2) * dot[2] + signed_byte_at(bytes, 3) * dot[3];
      if constexpr (Format::kUsesSums) {
        const int2 four = *reinterpret_cast<const int2*>(x_sums + 4 * t);
        const auto by = static_cast<int>(Format::kOffset != 0 ? bytes : of[r].half_mins);
        sums[r] = __dp2a_hi(four.y, by, __dp2a_lo(four.x, by, 0));
      }
    }
  }
  // Lanes with an odd t have the lower row from here on.
  const bool odd = t % 2 != 0;
  int row_total = odd ? total[1] : total[0], row_sums = odd ? sums[1] : sums[0];
  row_total += __shfl_xor_sync(0xffffffffu, odd ? total[0] : total[1], 1);
  row_total += __shfl_xor_sync(0xffffffffu, row_total, 2);
  if constexpr (Format::kUsesSums) {
    row_sums += __shfl_xor_sync(0xffffffffu, odd ? sums[0] : sums[1], 1);
    row_sums += __shfl_xor_sync(0xffffffffu, row_sums, 2);
  }
  const uint32_t scales = odd ? of[1].scales : of[0].scales;
  return super_block_value<Format>(
      row_total, row_sums, half_bits(static_cast<uint16_t>(scales)) * (Format::kUnit / RowDots<Format>::kFactor),
      half_bits(static_cast<uint16_t>(scales >> 16)));
}

}  // namespace wick::cuda
