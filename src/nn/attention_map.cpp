#include "nn/attention_map.h"

#include <algorithm>
#include <limits>

#include "nn/kv_cache.h"
#include "ops/ops.h"
#include "tensor/create.h"

namespace wick {
namespace {

// What is added to the scores [heads, queries, context]: -inf where a key is hidden, elsewhere what distance says.
Tensor position_bias(std::span<const int64_t> positions, int64_t context, int64_t heads,
                     const PagedAttentionOptions& options) {
  const auto queries = static_cast<int64_t>(positions.size());
  const std::vector<float> slopes =
      options.alibi_slopes.defined() ? options.alibi_slopes.to_vector<float>() : std::vector<float>(1, 0.f);
  const std::vector<float> biases =
      options.distance_bias.defined() ? options.distance_bias.to_vector<float>() : std::vector<float>(1, 0.f);
  const int64_t distances = options.distance_bias.defined() ? options.distance_bias.dim(1) : 1;
  const bool differs = options.alibi_slopes.defined() || options.distance_bias.defined();
  const int64_t kinds = differs ? heads : 1;  // one for all heads, or one per head
  Tensor bias = empty({kinds, queries, context});
  float* out = bias.mutable_data<float>();
  for (int64_t head = 0; head < kinds; ++head) {
    for (const int64_t query : positions) {
      for (int64_t key = 0; key < context; ++key) {
        const bool visible = key <= query && key >= options.first_seen(query);
        if (!visible) {
          *out++ = -std::numeric_limits<float>::infinity();
          continue;
        }
        const float slope = slopes[options.alibi_slopes.defined() ? static_cast<size_t>(head) : 0];
        const int64_t row = options.distance_bias.defined() ? head : 0;
        const float bias = biases[static_cast<size_t>(row * distances + std::min(query - key, distances - 1))];
        *out++ = slope * static_cast<float>(key - query) + bias;
      }
    }
  }
  return kinds == 1 ? broadcast_as(bias, {heads, queries, context}) : bias;
}

// A softmax in which a row without any key is zeros, and a sink takes its share.
Tensor pattern_of(const Tensor& scores, const Tensor& sinks) {
  const int64_t context = scores.dim(2);
  if (sinks.defined()) {
    const Tensor column = broadcast_as(reshape(sinks, {-1, 1, 1}), {scores.dim(0), scores.dim(1), 1});
    return narrow(softmax(concat({scores, column.contiguous()}, 2), -1), 2, 0, context).contiguous();
  }
  const Tensor pattern = softmax(scores, -1);
  return where(eq(pattern, pattern), pattern, zeros(pattern.shape(), DType::kF32, pattern.device()));
}

struct SequenceMap {
  const SequenceHooks* hooks;
  std::span<const int64_t> positions;
  Tensor query;      // [rows, heads, head_dim]
  Tensor block_row;  // i32 [blocks]
};

// Runs both hooks; the new z of the sequence [rows, heads, value_dim], or undefined when nothing was changed.
Tensor run_map(const SequenceMap& map, int layer, const KvBlocks& kv, const PagedAttentionOptions& options) {
  const int64_t rows = map.query.dim(0), heads = map.query.dim(1), kv_heads = kv.key.dim(1);
  const int64_t context = map.positions.back() + 1, group = heads / kv_heads;
  const GatheredKv gathered = gather_kv(kv, map.block_row, context);
  const Tensor by_head = reshape(transpose(map.query, 0, 1), {kv_heads, group * rows, map.query.dim(2)});
  Tensor scores = reshape(matmul(by_head, gathered.key), {heads, rows, context}) * options.scale;
  if (options.soft_cap > 0) scores = tanh(scores / options.soft_cap) * options.soft_cap;
  scores = scores + position_bias(map.positions, context, heads, options).to_device(scores.device());
  const Tensor seen = map.hooks->run(HookPoint::kAttnScores, layer, scores, map.positions);
  const Tensor plain = pattern_of(seen, options.sinks);
  const Tensor pattern = map.hooks->run(HookPoint::kAttnPattern, layer, plain, map.positions);
  const bool changed =
      seen.storage().get() != scores.storage().get() || pattern.storage().get() != plain.storage().get();
  if (!changed) return {};
  const Tensor z = matmul(reshape(pattern, {kv_heads, group * rows, context}), gathered.value);
  return transpose(reshape(z, {heads, rows, -1}), 0, 1).contiguous();
}

}  // namespace

Tensor hook_attention_maps(const BatchHooks& hooks, int layer, const Tensor& query, const KvBlocks& kv,
                           const PagedRows& rows, const PagedAttentionOptions& options, const Tensor& z) {
  Tensor current = z;
  const std::vector<int64_t> starts = rows.row_starts.to_vector<int64_t>();
  for (const BatchHooks::Rows& sequence : hooks.sequences()) {
    const HookSpec& spec = *sequence.hooks->spec;
    const auto wanted = [&](HookPoint point) { return spec.captures(point, layer) || spec.edits(point, layer); };
    if (!wanted(HookPoint::kAttnScores) && !wanted(HookPoint::kAttnPattern)) continue;
    int64_t index = 0;
    while (starts[static_cast<size_t>(index)] != sequence.begin ||
           starts[static_cast<size_t>(index) + 1] == sequence.begin) {
      ++index;
    }
    const auto count = static_cast<int64_t>(sequence.positions.size());
    const Tensor changed = run_map({sequence.hooks, sequence.positions, narrow(query, 0, sequence.begin, count),
                                    reshape(narrow(rows.block_table, 0, index, 1), {-1})},
                                   layer, kv, options);
    if (changed.defined()) current = with_rows(current, sequence.begin, changed);
  }
  return current;
}

}  // namespace wick
