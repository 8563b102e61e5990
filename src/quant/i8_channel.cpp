#include "quant/i8_channel.h"

#include "quant/blocks.h"
#include "quant/scale_search.h"

namespace wick {
namespace {

constexpr IntegerLevels kLevels{-127, 127};

// A row in parts of 64 weights, brought to a common size as BlockInput is.
struct Row {
  Row(const float* weights, int64_t count, const float* importance)
      : weights(weights), importance(importance), count(count), largest(largest_of(weights, count)) {
    unit = power_of_two_below(largest);
    const float largest_importance = importance ? largest_of(importance, count) : 0.0f;
    if (largest_importance == 0.0f) this->importance = nullptr;
    importance_unit = power_of_two_below(largest_importance);
    std::fill_n(part.w, 64, 1.0f);
  }

  static float largest_of(const float* values, int64_t count) {
    alignas(16) float finite[64];
    float largest = 0;
    for (int64_t i = 0; i < count; i += 64) largest = std::max(largest, copy_finite<64>(values + i, finite));
    return largest;
  }

  const BlockInput<64>& load(int64_t start) {
    copy_finite<64>(weights + start, part.x);
    for (float& value : part.x) value *= 1.0f / unit;
    if (importance) {
      copy_finite<64>(importance + start, part.w);
      for (float& value : part.w) value = std::max(value, 0.0f) * (1.0f / importance_unit);
    }
    return part;
  }

  // Least squares for the scale, given that the weights are rounded with this one. The sums of the parts are collected
  // in f64, for rows are long.
  ScaleFit refit(float scale) {
    double rr = 0, rq = 0, qq = 0;
    for (int64_t i = 0; i < count; i += 64) {
      const BlockInput<64>& input = load(i);
      const ScaleSums sums = sum_residuals<64>(input.x, input.w, scale, kLevels);
      rr += static_cast<double>(sums.rr);
      rq += static_cast<double>(sums.rq);
      qq += static_cast<double>(sums.qq);
    }
    const double correction = qq > 0 ? rq / qq : 0.0;
    return {scale + static_cast<float>(correction), static_cast<float>(rr - correction * rq)};
  }

  const float* weights;
  const float* importance;
  int64_t count;
  float largest;
  float unit, importance_unit;
  BlockInput<64> part;
};

// The longer the row, the more its largest weights stand out, and cutting them off may pay: the search goes on with
// smaller scales for as long as that helps.
float search_row_scale(Row& row) {
  if (row.largest == 0.0f) return 0;
  const float largest = row.largest / row.unit;
  ScaleFit best = row.refit(largest / 127.0f);
  float levels = 127.4f;
  for (int failures = 0; failures < 3 && levels < 1e6f; levels *= 1.05f) {
    const ScaleFit fit = row.refit(largest / levels);
    failures = fit.error < best.error ? 0 : failures + 1;
    best.offer(fit.scale, fit.error);
  }
  for (int round = 0; round < 2; ++round) {
    const ScaleFit fit = row.refit(best.scale);
    best.offer(fit.scale, fit.error);
  }
  return best.scale;
}

}  // namespace

void decode_i8_channel(const std::byte* blocks, float* weights, int64_t count) {
  decode_blocks<BlockI8Channel, 64>(blocks, weights, count, [](const BlockI8Channel& block, float* out) {
    const float scale = block.scale;
    for (int i = 0; i < 64; ++i) out[i] = scale * static_cast<float>(block.quants[i]);
  });
}

void encode_i8_channel(const float* weights, std::byte* blocks, int64_t count, const float* importance) {
  Row row(weights, count, importance);
  const float scale = search_row_scale(row);
  for (int64_t i = 0; i < count; i += 64) {
    BlockI8Channel block;
    block.scale = scale * row.unit;
    quantize_integers<64>(row.load(i).x, block.scale / row.unit, kLevels, 0, block.quants);
    std::memcpy(blocks + i / 64 * static_cast<int64_t>(sizeof(block)), &block, sizeof(block));
  }
}

}  // namespace wick
