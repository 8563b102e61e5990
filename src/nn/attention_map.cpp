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
                     const PagedAttentionOptions& options, std::span<const WholeRows> whole) {
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
  const auto see_each_other = [&](int64_t query, int64_t key) {
    return std::any_of(whole.begin(), whole.end(), [&](const WholeRows& rows) {
      return std::min(query, key) >= rows.begin && std::max(query, key) < rows.end;
    });
  };
  for (int64_t head = 0; head < kinds; ++head) {
    for (const int64_t query : positions) {
      for (int64_t key = 0; key < context; ++key) {
        const bool visible = (key <= query && key >= options.first_seen(query)) || see_each_other(query, key);
        if (!visible) {
          *out++ = -std::numeric_limits<float>::infinity();
          continue;
        }
        const float slope = slopes[options.alibi_slopes.defined() ? static_cast<size_t>(head) : 0];
        const int64_t row = options.distance_bias.defined() ? head : 0;
        const float bias =
            biases[static_cast<size_t>(row * distances + std::clamp<int64_t>(query - key, 0, distances - 1))];
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

// The rows of one sequence, or some of them.
struct SequenceMap {
  std::span<const int64_t> positions;
  Tensor query;                      // [rows, heads, head_dim]
  Tensor block_row;                  // i32 [blocks]
  std::span<const WholeRows> whole;  // of the sequence

  int64_t context() const { return positions.back() + 1; }
};

Tensor scores_of(const SequenceMap& map, const GatheredKv& gathered, const PagedAttentionOptions& options) {
  const int64_t rows = map.query.dim(0), heads = map.query.dim(1), kv_heads = gathered.key.dim(0);
  const Tensor by_head = reshape(transpose(map.query, 0, 1), {kv_heads, heads / kv_heads * rows, map.query.dim(2)});
  Tensor scores = reshape(matmul(by_head, gathered.key), {heads, rows, map.context()}) * options.scale;
  if (options.soft_cap > 0) scores = tanh(scores / options.soft_cap) * options.soft_cap;
  return scores + position_bias(map.positions, map.context(), heads, options, map.whole).to_device(scores.device());
}

// [rows, heads, value_dim]
Tensor values_of(const Tensor& pattern, const GatheredKv& gathered) {
  const int64_t heads = pattern.dim(0), rows = pattern.dim(1), kv_heads = gathered.value.dim(0);
  const Tensor z = matmul(reshape(pattern, {kv_heads, heads / kv_heads * rows, pattern.dim(2)}), gathered.value);
  return transpose(reshape(z, {heads, rows, -1}), 0, 1).contiguous();
}

// Runs both hooks; the new z of the sequence [rows, heads, value_dim], or undefined when nothing was changed.
Tensor run_map(const SequenceMap& map, const SequenceHooks& hooks, int layer, const KvBlocks& kv,
               const PagedAttentionOptions& options) {
  const GatheredKv gathered = gather_kv(kv, map.block_row, map.context());
  const Tensor scores = scores_of(map, gathered, options);
  const Tensor seen = hooks.run(HookPoint::kAttnScores, layer, scores, map.positions);
  const Tensor plain = pattern_of(seen, options.sinks);
  const Tensor pattern = hooks.run(HookPoint::kAttnPattern, layer, plain, map.positions);
  const bool changed =
      seen.storage().get() != scores.storage().get() || pattern.storage().get() != plain.storage().get();
  return changed ? values_of(pattern, gathered) : Tensor();
}

Tensor block_row_of(const PagedRows& rows, int64_t sequence) {
  return reshape(narrow(rows.block_table, 0, sequence, 1), {-1});
}

}  // namespace

Tensor attend_whole(std::span<const WholeRows> whole, const Tensor& query, const KvBlocks& kv, const PagedRows& rows,
                    const PagedAttentionOptions& options, const Tensor& z) {
  Tensor current = z;
  for (const WholeRows& each : whole) {
    std::vector<int64_t> positions;
    for (int64_t position = each.position; position < each.end; ++position) positions.push_back(position);
    const SequenceMap map{
        positions, narrow(query, 0, each.row, std::ssize(positions)), block_row_of(rows, each.sequence), {&each, 1}};
    const GatheredKv gathered = gather_kv(kv, map.block_row, map.context());
    const Tensor pattern = pattern_of(scores_of(map, gathered, options), options.sinks);
    current = with_rows(current, each.row, values_of(pattern, gathered));
  }
  return current;
}

Tensor hook_attention_maps(const BatchHooks& hooks, int layer, const Tensor& query, const KvBlocks& kv,
                           const PagedRows& rows, const PagedAttentionOptions& options,
                           std::span<const WholeRows> whole, const Tensor& z) {
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
    std::vector<WholeRows> own;
    for (const WholeRows& each : whole) {
      if (each.sequence == index) own.push_back(each);
    }
    const SequenceMap map{sequence.positions, narrow(query, 0, sequence.begin, count), block_row_of(rows, index), own};
    const Tensor changed = run_map(map, *sequence.hooks, layer, kv, options);
    if (changed.defined()) current = with_rows(current, sequence.begin, changed);
  }
  return current;
}

}  // namespace wick
