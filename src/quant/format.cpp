#include "quant/format.h"

#include <iterator>

#include "quant/f8_channel.h"
#include "quant/float8.h"
#include "quant/group_quants.h"
#include "quant/i8_channel.h"
#include "quant/i_quants.h"
#include "quant/k_quants.h"
#include "quant/legacy_quants.h"
#include "quant/mxfp4.h"
#include "quant/nf4.h"
#include "quant/nvfp4.h"
#include "quant/ternary_quants.h"

namespace wick {
namespace {

struct Entry {
  DType dtype;
  QuantFormat format;
};

constexpr Entry kEntries[] = {
    {DType::kF8E4M3, {decode_f8_e4m3, encode_f8_e4m3}},
    {DType::kF8E5M2, {decode_f8_e5m2, encode_f8_e5m2}},
    {DType::kF8E8M0, {decode_f8_e8m0, encode_f8_e8m0}},
    {DType::kQ4_0, {decode_q4_0, encode_q4_0}},
    {DType::kQ4_1, {decode_q4_1, encode_q4_1}},
    {DType::kQ5_0, {decode_q5_0, encode_q5_0}},
    {DType::kQ5_1, {decode_q5_1, encode_q5_1}},
    {DType::kQ8_0, {decode_q8_0, encode_q8_0}},
    {DType::kQ2_K, {decode_q2_k, encode_q2_k}},
    {DType::kQ3_K, {decode_q3_k, encode_q3_k}},
    {DType::kQ4_K, {decode_q4_k, encode_q4_k}},
    {DType::kQ5_K, {decode_q5_k, encode_q5_k}},
    {DType::kQ6_K, {decode_q6_k, encode_q6_k}},
    {DType::kQ8_K, {decode_q8_k, encode_q8_k}},
    {DType::kIQ4_NL, {decode_iq4_nl, encode_iq4_nl}},
    {DType::kIQ4_XS, {decode_iq4_xs, encode_iq4_xs}},
    {DType::kMXFP4, {decode_mxfp4, encode_mxfp4}},
    {DType::kIQ1_S, {decode_iq1_s, nullptr}},
    {DType::kIQ1_M, {decode_iq1_m, nullptr}},
    {DType::kIQ2_XXS, {decode_iq2_xxs, nullptr}},
    {DType::kIQ2_XS, {decode_iq2_xs, nullptr}},
    {DType::kIQ2_S, {decode_iq2_s, nullptr}},
    {DType::kIQ3_XXS, {decode_iq3_xxs, nullptr}},
    {DType::kIQ3_S, {decode_iq3_s, nullptr}},
    {DType::kTQ1_0, {decode_tq1_0, nullptr}},
    {DType::kTQ2_0, {decode_tq2_0, nullptr}},
    {DType::kI8Channel, {decode_i8_channel, encode_i8_channel}},
    {DType::kGroup4, {decode_group4, encode_group4}},
    {DType::kGroup8, {decode_group8, encode_group8}},
    {DType::kF8Channel, {decode_f8_channel, nullptr}},
    {DType::kNF4, {decode_nf4, nullptr}},
    {DType::kNVFP4, {decode_nvfp4, nullptr}},
};

constexpr bool follows_dtype_order() {
  for (int i = 0; i < kDTypeCount - kElementDTypeCount; ++i) {
    if (static_cast<int>(kEntries[i].dtype) != kElementDTypeCount + i) return false;
  }
  return std::size(kEntries) == kDTypeCount - kElementDTypeCount;
}
static_assert(follows_dtype_order());

}  // namespace

const QuantFormat& quant_format(DType dtype) {
  if (!is_packed(dtype)) throw Error(ErrorCode::kDType, cat(dtype, " is not a packed dtype"));
  return kEntries[static_cast<int>(dtype) - kElementDTypeCount].format;
}

}  // namespace wick
