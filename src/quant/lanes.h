#pragma once

#include <cstring>

namespace wick {

// Four floats at a time. The encoders sum in lanes that are written out, because a compiler may not reorder the
// additions of a plain loop; the result is the same on every machine.
using Lanes = float __attribute__((vector_size(16)));

inline Lanes load_lanes(const float* from) {
  Lanes lanes;
  std::memcpy(&lanes, from, sizeof(lanes));
  return lanes;
}
inline void store_lanes(Lanes lanes, float* to) { std::memcpy(to, &lanes, sizeof(lanes)); }
inline Lanes broadcast(float value) { return Lanes{value, value, value, value}; }
inline Lanes min_lanes(Lanes a, Lanes b) { return a < b ? a : b; }
inline Lanes max_lanes(Lanes a, Lanes b) { return a > b ? a : b; }
// To the nearest integer, for |value| < 2^22: at 1.5 * 2^23 the last bit of a float is worth 1.
inline Lanes round_lanes(Lanes value) { return (value + 0x1.8p23f) - 0x1.8p23f; }
inline float sum_lanes(Lanes a) { return (a[0] + a[1]) + (a[2] + a[3]); }
inline float max_of_lanes(Lanes a) {
  const float even = a[0] > a[2] ? a[0] : a[2];
  const float odd = a[1] > a[3] ? a[1] : a[3];
  return even > odd ? even : odd;
}

}  // namespace wick
