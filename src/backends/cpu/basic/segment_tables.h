#pragma once

namespace wick::cpu {

// A function of x >= 0 in 16 pieces: c[0][k] + c[1][k] r + ... with r = x - start[k]. The first begins with 0, so that
// odd functions keep their relative precision; the last is the limit at infinity where there is one.
struct SegmentTable {
  static constexpr int kTerms = 6, kPieces = 16;
  float width, per_width;
  float last;  // a point of the last piece
  alignas(64) float c[kTerms][kPieces];
};
// r = x - k * width, for the k that makes it smallest.
const SegmentTable& erf_segments();
const SegmentTable& gelu_segments();       // erf(x / sqrt 2) / 2
const SegmentTable& gelu_tanh_segments();  // tanh(sqrt(2 / pi) (x + 0.044715 x^3)) / 2
const SegmentTable& log1p_segments();      // log(1 + x) for x up to 1
// Pieces that widen: k counts quarters of octaves of 1 + x / width, and r starts with a piece.
const SegmentTable& tanh_segments();

// log x = log c - log(c / x), with 1 / c and log c by the leading four bits of the mantissa of x.
struct LogTable {
  alignas(64) float reciprocal[16], log[16];
};
const LogTable& log_table();
// The same in f64 and base 2.
struct WideLogTable {
  alignas(64) double reciprocal[16], log2[16];
};
const WideLogTable& wide_log_table();

// 2^(k / 32), and the same floats less k << 18 in their bits: adding n << 18 to those gives 2^(n / 32), k = n mod 32.
struct PowerTable {
  alignas(64) float power[32], bits[32];
};
const PowerTable& power_table();

}  // namespace wick::cpu
