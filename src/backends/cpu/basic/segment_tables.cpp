#include "backends/cpu/basic/segment_tables.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace wick::cpu {
namespace {

// Coefficients of the polynomial through f at the Chebyshev points of [from, to].
template <int kTerms, typename Function>
void interpolate(const Function& f, double from, double to, double (&c)[kTerms]) {
  double point[kTerms], slope[kTerms];
  for (int i = 0; i < kTerms; ++i) {
    point[i] = (from + to) / 2 + (to - from) / 2 * std::cos((2 * i + 1) * std::numbers::pi / (2 * kTerms));
    slope[i] = f(point[i]);
  }
  for (int order = 1; order < kTerms; ++order) {  // Newton's divided differences
    for (int i = kTerms - 1; i >= order; --i) slope[i] = (slope[i] - slope[i - 1]) / (point[i] - point[i - order]);
  }
  for (double& term : c) term = 0;
  for (int i = kTerms - 1; i >= 0; --i) {  // c = c * (r - point[i]) + slope[i]
    for (int j = kTerms - 1; j > 0; --j) c[j] = c[j - 1] - point[i] * c[j];
    c[0] = slope[i] - point[i] * c[0];
  }
}

struct Bounds {
  double start, from, to;  // r counts from `start` and lies between the others
};

Bounds even_piece(int k, double width) { return {k * width, k == 0 ? 0 : -width / 2, width / 2}; }
Bounds widening_piece(int k, double width) {
  const int octave = 1 << (k / 4);
  return {(octave * (1 + k % 4 / 4.0) - 1) * width, 0, octave * width / 4};
}

// Terms from kTerms on are 0. Piece 0 goes to column `first_slot`: 12 where the index is taken from the bits of 1.0.
template <int kTerms, typename Function>
SegmentTable segments(const Function& f, double width, Bounds (*piece)(int k, double width), bool saturates,
                      int first_slot = 0) {
  constexpr int kLast = SegmentTable::kPieces - 1;
  SegmentTable table{};
  table.width = static_cast<float>(width);
  table.per_width = static_cast<float>(1 / width);
  const double rounded = table.width;
  table.last = static_cast<float>(piece(kLast, rounded).start);
  double first[kTerms - 1];
  interpolate([&](double r) { return f(r) / r; }, 0, piece(0, rounded).to, first);
  const auto slot = [&](int k) { return (k + first_slot) % SegmentTable::kPieces; };
  for (int i = 1; i < kTerms; ++i) table.c[i][slot(0)] = static_cast<float>(first[i - 1]);
  for (int k = 1; k < SegmentTable::kPieces; ++k) {
    const Bounds bounds = piece(k, rounded);
    double c[kTerms];
    interpolate([&](double r) { return f(bounds.start + r); }, bounds.from, bounds.to, c);
    for (int i = 0; i < kTerms; ++i) table.c[i][slot(k)] = static_cast<float>(c[i]);
  }
  if (saturates) {
    table.c[0][slot(kLast)] = static_cast<float>(f(1e3));
    for (int i = 1; i < SegmentTable::kTerms; ++i) table.c[i][slot(kLast)] = 0;
  }
  return table;
}

}  // namespace

const SegmentTable& erf_segments() {
  static const SegmentTable table = segments<6>([](double x) { return std::erf(x); }, 65.0 / 256, even_piece, true);
  return table;
}
const SegmentTable& gelu_segments() {
  static const SegmentTable table =
      segments<6>([](double x) { return std::erf(x / std::numbers::sqrt2) / 2; }, 93.0 / 256, even_piece, true);
  return table;
}
const SegmentTable& gelu_tanh_segments() {
  constexpr double kScale = 0.79788456080286535588;  // sqrt(2 / pi)
  static const SegmentTable table = segments<6>(
      [](double x) { return std::tanh(kScale * (x + 0.044715 * x * x * x)) / 2; }, 93.0 / 256, even_piece, true);
  return table;
}
const SegmentTable& log1p_segments() {
  static const SegmentTable table = segments<5>([](double x) { return std::log1p(x); }, 1.0 / 15, even_piece, false);
  return table;
}
const SegmentTable& tanh_segments() {
  static const SegmentTable table =
      segments<6>([](double x) { return std::tanh(x); }, 11.0 / 16, widening_piece, true, 12);
  return table;
}

const LogTable& log_table() {
  static const LogTable table = [] {
    LogTable made{};
    for (int i = 0; i < 16; ++i) {
      made.reciprocal[i] = static_cast<float>(1 / (1 + (i + 0.5) / 16));
      // The pieces beside 1 are taken from 1 itself: there the result goes to 0 and must keep its digits.
      if (i == 0) made.reciprocal[i] = 1;
      if (i == 15) made.reciprocal[i] = 0.5f;
      made.log[i] = static_cast<float>(-std::log(static_cast<double>(made.reciprocal[i])));
    }
    return made;
  }();
  return table;
}

const WideLogTable& wide_log_table() {
  static const WideLogTable table = [] {
    WideLogTable made{};
    for (int i = 0; i < 16; ++i) {
      made.reciprocal[i] = log_table().reciprocal[i];
      made.log2[i] = -std::log2(made.reciprocal[i]);
    }
    return made;
  }();
  return table;
}

const PowerTable& power_table() {
  static const PowerTable table = [] {
    PowerTable made{};
    for (int i = 0; i < 32; ++i) {
      made.power[i] = static_cast<float>(std::exp2(i / 32.0));
      made.bits[i] = std::bit_cast<float>(std::bit_cast<uint32_t>(made.power[i]) - (static_cast<uint32_t>(i) << 18));
    }
    return made;
  }();
  return table;
}

}  // namespace wick::cpu
