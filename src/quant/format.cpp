#include "quant/format.h"

#include "quant/float8.h"
#include "quant/group4.h"
#include "quant/group8.h"
#include "quant/i8_channel.h"
#include "quant/iq1_m.h"
#include "quant/iq1_s.h"
#include "quant/iq2_s.h"
#include "quant/iq2_xs.h"
#include "quant/iq2_xxs.h"
#include "quant/iq3_s.h"
#include "quant/iq3_xxs.h"
#include "quant/iq4_nl.h"
#include "quant/iq4_xs.h"
#include "quant/mxfp4.h"
#include "quant/q2_k.h"
#include "quant/q3_k.h"
#include "quant/q4_0.h"
#include "quant/q4_1.h"
#include "quant/q4_k.h"
#include "quant/q5_0.h"
#include "quant/q5_1.h"
#include "quant/q5_k.h"
#include "quant/q6_k.h"
#include "quant/q8_0.h"
#include "quant/q8_k.h"
#include "quant/tq1_0.h"
#include "quant/tq2_0.h"

namespace wick {
namespace {

// In the order of DType, from its first packed member on.
constexpr QuantFormat kFormats[] = {
    {decode_f8_e4m3, encode_f8_e4m3}, {decode_f8_e5m2, encode_f8_e5m2}, {decode_f8_e8m0, encode_f8_e8m0},
    {decode_q4_0, nullptr},           {decode_q4_1, nullptr},           {decode_q5_0, nullptr},
    {decode_q5_1, nullptr},           {decode_q8_0, nullptr},           {decode_q2_k, nullptr},
    {decode_q3_k, nullptr},           {decode_q4_k, nullptr},           {decode_q5_k, nullptr},
    {decode_q6_k, nullptr},           {decode_q8_k, nullptr},           {decode_iq4_nl, nullptr},
    {decode_iq4_xs, nullptr},         {decode_mxfp4, nullptr},          {decode_iq1_s, nullptr},
    {decode_iq1_m, nullptr},          {decode_iq2_xxs, nullptr},        {decode_iq2_xs, nullptr},
    {decode_iq2_s, nullptr},          {decode_iq3_xxs, nullptr},        {decode_iq3_s, nullptr},
    {decode_tq1_0, nullptr},          {decode_tq2_0, nullptr},          {decode_i8_channel, nullptr},
    {decode_group4, nullptr},         {decode_group8, nullptr},
};
static_assert(sizeof(kFormats) / sizeof(kFormats[0]) == kDTypeCount - kElementDTypeCount);

}  // namespace

const QuantFormat& quant_format(DType dtype) {
  if (!is_packed(dtype)) throw Error(ErrorCode::kDType, cat(dtype, " is not a packed dtype"));
  return kFormats[static_cast<int>(dtype) - kElementDTypeCount];
}

}  // namespace wick
