#include "graph/float8.h"

#include <array>
#include <cmath>
#include <limits>

namespace wick::graph {
namespace {

struct Format {
  int exponent_bits, mantissa_bits, bias;
  bool has_infinity;   // as in IEEE: the highest exponent is infinity and NaN
  bool nan_is_minus0;  // "UZ": the bits of -0 are the only NaN
  bool has_nan;
};

Format format_of(ElementType type) {
  switch (type) {
    case ElementType::kF8E4M3FN: return {4, 3, 7, false, false, true};
    case ElementType::kF8E4M3FNUZ: return {4, 3, 8, false, true, true};
    case ElementType::kF8E5M2: return {5, 2, 15, true, false, true};
    case ElementType::kF8E5M2FNUZ: return {5, 2, 16, false, true, true};
    default: return {2, 1, 1, false, false, false};
  }
}

}  // namespace

bool is_small_float(ElementType type) {
  return type == ElementType::kF8E4M3FN || type == ElementType::kF8E4M3FNUZ || type == ElementType::kF8E5M2 ||
         type == ElementType::kF8E5M2FNUZ || type == ElementType::kF4E2M1;
}

float decode_small_float(uint8_t bits, ElementType type) {
  const Format f = format_of(type);
  const int magnitude_bits = f.exponent_bits + f.mantissa_bits;
  const int magnitude = bits & ((1 << magnitude_bits) - 1), sign = bits >> magnitude_bits & 1;
  const int exponent = magnitude >> f.mantissa_bits, mantissa = magnitude & ((1 << f.mantissa_bits) - 1);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  if (f.nan_is_minus0 && sign && magnitude == 0) return nan;
  if (f.has_infinity && exponent == (1 << f.exponent_bits) - 1) {
    return mantissa ? nan : (sign ? -1.0f : 1.0f) * std::numeric_limits<float>::infinity();
  }
  if (type == ElementType::kF8E4M3FN && magnitude == 0x7F) return nan;
  const float scale = std::ldexp(1.0f, (exponent ? exponent : 1) - f.bias - f.mantissa_bits);
  const float value = static_cast<float>(exponent ? mantissa + (1 << f.mantissa_bits) : mantissa) * scale;
  return sign ? -value : value;
}

float round_to_small_float(float value, ElementType type, bool saturate) {
  const Format f = format_of(type);
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  if (std::isnan(value)) return f.has_nan ? nan : 0;
  const int count = 1 << (f.exponent_bits + f.mantissa_bits);
  float largest = 0;
  for (int bits = count - 1; bits > 0 && largest == 0; --bits) {
    const float at = decode_small_float(static_cast<uint8_t>(bits), type);
    if (std::isfinite(at)) largest = at;
  }
  const float beyond = f.has_infinity ? infinity : nan, size = std::fabs(value);
  const auto with_sign = [&](float magnitude) { return std::signbit(value) ? -magnitude : magnitude; };
  if (std::isinf(value)) return with_sign(saturate || !f.has_nan ? largest : beyond);
  // On the grid of the type: the spacing where the value lies.
  const int exponent = size > 0 ? std::max(std::ilogb(size), 1 - f.bias) : 1 - f.bias;
  const float step = std::ldexp(1.0f, exponent - f.mantissa_bits);
  const float rounded = std::nearbyint(size / step) * step;
  if (rounded > largest) return with_sign(saturate || !f.has_nan ? largest : beyond);
  return rounded == 0 && f.nan_is_minus0 ? 0.0f : with_sign(rounded);
}

}  // namespace wick::graph
