#include "ops/layers/paged_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "backends/reference/kernels.h"
#include "backends/reference/walk.h"

namespace wick::reference {

void paged_attention(const Tensor& query, const KvBlocks& blocks, const PagedRows& rows,
                     const PagedAttentionOptions& options, const Tensor& out) {
  const View<int32_t> starts(rows.row_starts), positions(rows.positions), table(rows.block_table);
  const View<float> q(query), result(out);
  const FloatView keys(blocks.key), values(blocks.value);
  const int64_t group = query.dim(1) / blocks.key.dim(1);
  const auto of_head = [](const Tensor& x, int64_t head) { return View<float>(x)[{head}]; };
  const auto scale = [](const Tensor& x, int64_t block, int64_t head, int64_t slot) {
    return x.defined() ? double{View<float>(x)[{block, head, slot}]} : 1.0;
  };
  std::vector<double> weights;
  for (int64_t s = 0; s < rows.positions.dim(0); ++s) {
    for (int64_t token = starts[{s}]; token < starts[{s + 1}]; ++token) {
      const int64_t position = positions[{s}] + token - starts[{s}];
      const int64_t first = options.first_seen(position);
      weights.resize(position + 1);
      for (int64_t head = 0; head < query.dim(1); ++head) {
        const int64_t kv_head = head / group;
        double most = options.sinks.defined() ? of_head(options.sinks, head) : -std::numeric_limits<double>::infinity();
        for (int64_t j = first; j <= position; ++j) {
          const int64_t block = table[{s, j / kKvBlockTokens}], slot = j % kKvBlockTokens;
          double score = 0;
          for (int64_t d = 0; d < query.dim(2); ++d) {
            score += q[{token, head, d}] * keys.get({block, kv_head, d, slot});
          }
          score *= options.scale * scale(blocks.key_scale, block, kv_head, slot);
          if (options.soft_cap > 0) score = options.soft_cap * std::tanh(score / options.soft_cap);
          if (options.alibi_slopes.defined()) {
            score += of_head(options.alibi_slopes, head) * static_cast<double>(j - position);
          }
          if (options.distance_bias.defined()) {
            const int64_t distance = std::min(position - j, options.distance_bias.dim(1) - 1);
            score += View<float>(options.distance_bias)[{head, distance}];
          }
          weights[j] = score;
          if (score > most || std::isnan(score)) most = score;
        }
        double total = options.sinks.defined() ? std::exp(of_head(options.sinks, head) - most) : 0;
        for (int64_t j = first; j <= position; ++j) total += weights[j] = std::exp(weights[j] - most);
        for (int64_t d = 0; d < out.dim(2); ++d) {
          double mixed = 0;
          for (int64_t j = first; j <= position; ++j) {
            const int64_t block = table[{s, j / kKvBlockTokens}], slot = j % kKvBlockTokens;
            const double value = values.get({block, kv_head, slot, d});
            mixed += weights[j] * value * scale(blocks.value_scale, block, kv_head, slot);
          }
          result[{token, head, d}] = static_cast<float>(mixed / total);
        }
      }
    }
  }
}

}  // namespace wick::reference
