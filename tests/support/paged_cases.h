#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "ops/ops.h"
#include "tensor/create.h"

namespace wick {

// Random keys and values of a few sequences in a pool whose free places hold NaN, their blocks in no order.
struct PagedCase {
  struct Sequence {
    int64_t position, rows;  // rows of the query begin at `position`
  };
  int64_t heads = 1, kv_heads = 1, dim = 16, value_dim = 16;
  DType dtype = DType::kF32;
  Device device = Device::cpu();
  std::vector<Sequence> sequences;

  std::vector<Tensor> keys, values, queries;  // per sequence: all positions, on the CPU in f32
  KvBlocks blocks;
  std::vector<int32_t> table;  // [sequences, most_blocks]
  int64_t most_blocks = 0, pool = 0;

  int64_t length(size_t s) const { return sequences[s].position + sequences[s].rows; }

  void make(uint64_t seed = 1) {
    keys.clear(), values.clear(), queries.clear();
    for (size_t s = 0; s < sequences.size(); ++s) {
      keys.push_back(randn({length(s), kv_heads, dim}, seed + 10 * s));
      values.push_back(randn({length(s), kv_heads, value_dim}, seed + 10 * s + 1));
      queries.push_back(randn({length(s), heads, dim}, seed + 10 * s + 2));
      most_blocks = std::max(most_blocks, (length(s) + kKvBlockTokens - 1) / kKvBlockTokens);
    }
    pool = most_blocks * static_cast<int64_t>(sequences.size()) + 3;
    std::vector<int32_t> ids(pool);
    std::iota(ids.begin(), ids.end(), 0);
    std::shuffle(ids.begin(), ids.end(), std::mt19937(static_cast<uint32_t>(seed)));
    table.assign(ids.begin(), ids.begin() + most_blocks * static_cast<int64_t>(sequences.size()));
    blocks = empty_pool();
    for (size_t s = 0; s < sequences.size(); ++s) store(s, 0, length(s));
  }

  KvBlocks empty_pool() const {
    const bool bytes = dtype == DType::kI8;
    const double nan = std::numeric_limits<double>::quiet_NaN(), free = bytes ? 99 : nan;
    KvBlocks made{full({pool, kv_heads, dim, kKvBlockTokens}, free, dtype, device),
                  full({pool, kv_heads, kKvBlockTokens, value_dim}, free, dtype, device), Tensor(), Tensor()};
    if (bytes) {
      made.key_scale = full({pool, kv_heads, kKvBlockTokens}, nan, DType::kF32, device);
      made.value_scale = full({pool, kv_heads, kKvBlockTokens}, nan, DType::kF32, device);
    }
    return made;
  }

  // `count` positions of each of the sequences `which`, from `from` on.
  PagedRows rows(const std::vector<size_t>& which, const std::vector<Sequence>& ranges) const {
    std::vector<int32_t> starts{0}, positions, entries;
    for (size_t i = 0; i < which.size(); ++i) {
      starts.push_back(starts.back() + static_cast<int32_t>(ranges[i].rows));
      positions.push_back(static_cast<int32_t>(ranges[i].position));
      const auto from = table.begin() + static_cast<int64_t>(which[i]) * most_blocks;
      entries.insert(entries.end(), from, from + most_blocks);
    }
    const auto count = static_cast<int64_t>(which.size());
    return {from_vector(starts, {count + 1}, device), from_vector(positions, {count}, device),
            from_vector(entries, {count, most_blocks}, device)};
  }
  PagedRows all_rows() const {
    std::vector<size_t> which(sequences.size());
    std::iota(which.begin(), which.end(), size_t{0});
    return rows(which, sequences);
  }

  void store(size_t s, int64_t from, int64_t count) const {
    store_kv(narrow(keys[s], 0, from, count).to_device(device), narrow(values[s], 0, from, count).to_device(device),
             rows({s}, {{from, count}}), blocks);
  }

  // All sequences' rows in one call.
  Tensor attend(const PagedAttentionOptions& options) const {
    std::vector<Tensor> parts;
    for (size_t s = 0; s < sequences.size(); ++s) {
      parts.push_back(narrow(queries[s], 0, sequences[s].position, sequences[s].rows));
    }
    return paged_attention(concat(parts, 0).to_device(device), blocks, all_rows(), options);
  }
  // Some rows of one sequence alone.
  Tensor attend(size_t s, int64_t from, int64_t count, const PagedAttentionOptions& options) const {
    return paged_attention(narrow(queries[s], 0, from, count).to_device(device), blocks, rows({s}, {{from, count}}),
                           options);
  }

  // What the pool makes of a vector.
  std::vector<double> stored(const Tensor& x) const {
    if (dtype != DType::kI8) return x.to_dtype(dtype).to_vector<double>();
    const std::vector<float> from = x.to_vector<float>();
    std::vector<double> result(from.size());
    for (size_t row = 0; row < from.size(); row += x.dim(2)) {
      float most = 0;
      for (int64_t i = 0; i < x.dim(2); ++i) most = std::max(most, std::abs(from[row + i]));
      const float inverse = 127.0f / most, scale = most / 127.0f;  // which way ties round depends on the f32
      for (int64_t i = 0; i < x.dim(2); ++i) result[row + i] = double{std::nearbyint(from[row + i] * inverse)} * scale;
    }
    return result;
  }

  // The same in f64, plainly.
  Tensor expected(const PagedAttentionOptions& options) const {
    std::vector<double> out;
    const int64_t group = heads / kv_heads;
    const auto sinks = options.sinks.defined() ? options.sinks.to_vector<double>() : std::vector<double>();
    const auto slopes =
        options.alibi_slopes.defined() ? options.alibi_slopes.to_vector<double>() : std::vector<double>();
    const auto biases =
        options.distance_bias.defined() ? options.distance_bias.to_vector<double>() : std::vector<double>();
    const int64_t distances = biases.empty() ? 0 : options.distance_bias.dim(1);
    for (size_t s = 0; s < sequences.size(); ++s) {
      const auto k = stored(keys[s]), v = stored(values[s]), q = queries[s].to_vector<double>();
      for (int64_t p = sequences[s].position; p < length(s); ++p) {
        for (int64_t h = 0; h < heads; ++h) {
          const int64_t window = options.window ? std::max<int64_t>(0, p - options.window + 1) : 0, kv = h / group;
          const int64_t first = std::max(window, options.chunk ? p / options.chunk * options.chunk : 0);
          std::vector<double> mixed(value_dim);
          double total = sinks.empty() ? 0 : std::exp(sinks[h]);
          for (int64_t j = first; j <= p; ++j) {
            double score = 0;
            for (int64_t d = 0; d < dim; ++d) score += q[(p * heads + h) * dim + d] * k[(j * kv_heads + kv) * dim + d];
            score *= options.scale;
            if (options.soft_cap > 0) score = options.soft_cap * std::tanh(score / options.soft_cap);
            if (!slopes.empty()) score += slopes[h] * static_cast<double>(j - p);
            if (!biases.empty()) score += biases[h * distances + std::min(p - j, distances - 1)];
            const double weight = std::exp(score);
            total += weight;
            for (int64_t d = 0; d < value_dim; ++d) mixed[d] += weight * v[(j * kv_heads + kv) * value_dim + d];
          }
          for (const double x : mixed) out.push_back(x / total);
        }
      }
    }
    return from_vector(out, {static_cast<int64_t>(out.size()) / (heads * value_dim), heads, value_dim});
  }
};

}  // namespace wick
