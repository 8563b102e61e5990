// Paged attention of CUDA: prompts, tokens one by one, and what it stores itself.
#if WICK_CUDA
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "nn/kv_cache.h"
#include "ops/layers/paged_attention.h"
#include "support/kernel_cases.h"
#include "support/needs_cuda.h"
#include "support/paged_cases.h"

namespace wick {
namespace {

class CudaAttention : public NeedsCuda<> {};

// Against the ops one after the other: single tokens behind others, at the edges of blocks and splits, and a prompt.
TEST_F(CudaAttention, AttendsToWhatItStores) {
  struct Case {
    int64_t heads, kv_heads, dim, pairs;
    DType dtype;
    bool interleaved, normed;
    std::vector<int64_t> tokens;
  };
  const std::vector<int64_t> ones(6, 1);
  for (const Case& of : {Case{4, 2, 128, 64, DType::kF16, false, true, ones},
                         {6, 1, 64, 16, DType::kBF16, true, false, ones},
                         {40, 2, 128, 64, DType::kF16, false, true, ones},
                         {4, 2, 72, 36, DType::kF16, false, true, ones},
                         {4, 4, 64, 32, DType::kI8, false, true, ones},
                         {64, 16, 128, 64, DType::kI8, false, true, {100, 50, 60, 1, 2, 70}},
                         {4, 2, 128, 64, DType::kF16, false, true, {1, 5, 20, 1, 2, 3}},
                         // So many rows that they are computed in large tiles.
                         {64, 16, 128, 64, DType::kF16, false, true, {100, 50, 60, 1, 2, 70}},
                         {64, 16, 128, 64, DType::kBF16, false, false, {1, 80, 90, 100, 10, 1}},
                         {64, 16, 64, 16, DType::kF16, true, true, {70, 60, 50, 40, 30, 20}},
                         {8, 4, 256, 128, DType::kF16, false, true, ones},
                         {4, 1, 256, 32, DType::kBF16, true, false, {1, 5, 20, 1, 2, 3}},
                         {6, 2, 96, 48, DType::kF16, false, true, ones},
                         {5, 5, 80, 16, DType::kBF16, false, false, ones},
                         {64, 32, 96, 48, DType::kBF16, true, true, {100, 50, 60, 1, 2, 70}},
                         {64, 16, 256, 128, DType::kBF16, false, true, {100, 50, 60, 1, 2, 70}}}) {
    const std::vector<int64_t> positions{0, 15, 16, 127, 128, 300};
    constexpr int64_t kWidth = 24;
    const auto sequences = static_cast<int64_t>(positions.size());
    std::vector<int32_t> starts{0}, first, table;
    for (int64_t s = 0; s < sequences; ++s) {
      starts.push_back(starts.back() + static_cast<int32_t>(of.tokens[static_cast<size_t>(s)]));
      first.push_back(static_cast<int32_t>(positions[static_cast<size_t>(s)]));
      for (int64_t b = 0; b < kWidth; ++b) table.push_back(static_cast<int32_t>(b * sequences + s));
    }
    const int64_t rows = starts.back();
    const Tensor query = randn({rows, of.heads, of.dim}, 1), key = randn({rows, of.kv_heads, of.dim}, 2),
                 value = randn({rows, of.kv_heads, of.dim}, 3), query_weight = randn({of.dim}, 4),
                 key_weight = randn({of.dim}, 5), angles = randn({rows, of.pairs}, 6);
    const auto paged = [&](Device device) {
      return PagedRows{from_vector(starts, {sequences + 1}, device), from_vector(first, {sequences}, device),
                       from_vector(table, {sequences, kWidth}, device)};
    };
    PagedAttentionOptions options;
    options.scale = 1 / std::sqrt(static_cast<float>(of.dim));
    const auto run = [&](Device device, bool together) {
      const KvShape shape{of.kv_heads, of.dim, of.dim};
      const KvCache cache({&shape, 1}, kWidth * sequences, of.dtype, device);
      const auto there = [&](const Tensor& y) { return y.to_device(device); };
      // What came before: other keys and values, stored as prompts.
      std::vector<int32_t> before{0}, zeros_(static_cast<size_t>(sequences), 0);
      for (const int64_t position : positions) before.push_back(before.back() + static_cast<int32_t>(position));
      const PagedRows past{from_vector(before, {sequences + 1}, device), from_vector(zeros_, {sequences}, device),
                           from_vector(table, {sequences, kWidth}, device)};
      store_kv(there(randn({before.back(), of.kv_heads, of.dim}, 7)),
               there(randn({before.back(), of.kv_heads, of.dim}, 8)), past, cache.layer(0));
      const Tensor c = there(cos(angles)), s = there(sin(angles));
      const auto rotated = [&](const Tensor& y, const Tensor& weight) {
        const Tensor normed = of.normed ? rms_norm(there(y), there(weight), 1e-6f) : there(y);
        return transpose(rope(transpose(normed, 0, 1), c, s, of.interleaved), 0, 1).contiguous();
      };
      if (together) {
        const HeadRotation rotation{of.normed ? there(query_weight) : Tensor(),
                                    of.normed ? there(key_weight) : Tensor(),
                                    1e-6f,
                                    c,
                                    s,
                                    of.interleaved};
        const AttendInput input{there(query), there(key), there(value)};
        const Tensor out = attend(input, rotation, cache.layer(0), paged(device), options, false).out;
        const Attended watched = attend(input, rotation, cache.layer(0), paged(device), options, true);
        expect_identical(watched.out, out, "with queries wanted");
        expect_close(watched.queries, rotated(query, query_weight), 1e-5, "queries");
        // What was stored is seen by whoever comes next.
        const Tensor again = paged_attention(there(query), cache.layer(0), paged(device), options);
        return concat(std::vector<Tensor>{out, again}, 0).to_device(Device::cpu());
      }
      store_kv(rotated(key, key_weight), there(value), paged(device), cache.layer(0));
      const Tensor out = paged_attention(rotated(query, query_weight), cache.layer(0), paged(device), options);
      const Tensor again = paged_attention(there(query), cache.layer(0), paged(device), options);
      return concat(std::vector<Tensor>{out, again}, 0).to_device(Device::cpu());
    };
    const Tensor together = run(Device::cuda(), true);
    // Some components of queries and keys are rounded to the other neighbour.
    expect_close(together, run(Device::cuda(), false), of.dtype == DType::kI8 ? 5e-3 : 2e-3,
                 cat("apart, heads of ", of.dim));
    expect_close(together, run(Device::cpu(), false), of.dtype == DType::kBF16 ? 4e-2 : 1e-2,
                 cat("on the host, heads of ", of.dim));
  }
}

// A prompt with enough rows for large tiles gives the bits that its tokens give one after the other.
TEST_F(CudaAttention, AttendsToPromptsAsToTokens) {
  constexpr int64_t kHeads = 64, kKvHeads = 16, kTokens = 150, kWidth = 10;
  struct Case {
    int64_t dim, pairs;
    DType dtype;
    bool interleaved, normed;
  };
  for (const Case& of : {Case{128, 64, DType::kBF16, false, true},
                         {128, 64, DType::kF16, false, false},
                         {64, 32, DType::kF16, false, true},
                         {64, 16, DType::kBF16, true, true},
                         {256, 128, DType::kF16, false, true},
                         {256, 64, DType::kBF16, true, false},
                         {80, 16, DType::kF16, false, true},
                         {96, 48, DType::kBF16, false, true},
                         {128, 64, DType::kI8, false, true},
                         {256, 128, DType::kI8, false, false}}) {
    const auto random = [&](const Shape& shape, uint64_t seed) { return randn(shape, seed).to_device(Device::cuda()); };
    const Tensor query = random({kTokens, kHeads, of.dim}, 1), key = random({kTokens, kKvHeads, of.dim}, 2),
                 value = random({kTokens, kKvHeads, of.dim}, 3), angles = random({kTokens, of.pairs}, 4);
    const Tensor query_weight = random({of.dim}, 5), key_weight = random({of.dim}, 6);
    std::vector<int32_t> table(kWidth);
    std::iota(table.rbegin(), table.rend(), 0);
    PagedAttentionOptions options;
    options.scale = 0.1f;
    const auto run = [&](int64_t chunk) {
      const KvShape shape{kKvHeads, of.dim, of.dim};
      const KvCache cache({&shape, 1}, kWidth, of.dtype, Device::cuda());
      std::vector<Tensor> parts;
      for (int64_t at = 0; at < kTokens; at += chunk) {
        const auto part = [&](const Tensor& x) { return narrow(x, 0, at, chunk).contiguous(); };
        const HeadRotation rotation{of.normed ? query_weight : Tensor(),
                                    of.normed ? key_weight : Tensor(),
                                    1e-6f,
                                    cos(part(angles)),
                                    sin(part(angles)),
                                    of.interleaved};
        const PagedRows rows{from_vector(std::vector<int32_t>{0, static_cast<int32_t>(chunk)}, {2}, Device::cuda()),
                             from_vector(std::vector<int32_t>{static_cast<int32_t>(at)}, {1}, Device::cuda()),
                             from_vector(table, {1, kWidth}, Device::cuda())};
        parts.push_back(
            attend({part(query), part(key), part(value)}, rotation, cache.layer(0), rows, options, false).out);
      }
      return concat(parts, 0);
    };
    expect_identical(run(kTokens), run(1), cat(to_string(of.dtype), ", heads of ", of.dim));
  }
}

// Prompts with enough rows for large tiles: right, and to the bit what few rows give, which go another way, and queries
// that lie so that they cannot be fetched as others are.
TEST_F(CudaAttention, AttentionOfPrompts) {
  const Device device = Device::cuda();
  for (const DType dtype : {DType::kF16, DType::kBF16, DType::kI8}) {
    for (const auto& [heads, kv_heads, dim] : {std::array<int64_t, 3>{64, 16, 128},
                                               {64, 16, 64},
                                               {65, 13, 128},
                                               {64, 16, 256},
                                               {64, 16, 80},
                                               {65, 13, 96}}) {
      PagedCase c{heads, kv_heads, dim, dim, dtype, device, {{0, 150}, {0, 0}, {61, 100}, {300, 30}, {17, 1}},
                  {},    {},       {},  {},  {}};
      c.make();
      for (int which = 0; which < 5; ++which) {
        PagedAttentionOptions options;
        options.scale = 0.09f;
        if (which == 1) options.window = 70;
        if (which == 2) options.sinks = randn({heads}, 3);
        if (which == 3) {
          options.soft_cap = 20;
          std::vector<float> slopes(static_cast<size_t>(heads));
          for (size_t i = 0; i < slopes.size(); ++i) slopes[i] = 0.02f * static_cast<float>(i % 7);
          options.alibi_slopes = from_vector(slopes, {heads});
          options.window = 200;
        }
        if (which == 4) options.distance_bias = randn({heads, 40}, 5);
        const std::string what = cat(to_string(dtype), ", ", heads, " heads of ", dim, ", options ", which);
        const Tensor want = c.expected(options);
        options.sinks = moved(options.sinks, device);
        options.alibi_slopes = moved(options.alibi_slopes, device);
        options.distance_bias = moved(options.distance_bias, device);
        const Tensor all = c.attend(options);
        expect_close(all, want, dtype == DType::kF16 ? 3e-3 : dtype == DType::kBF16 ? 2e-2 : 1e-2, what);
        for (const int64_t row : {0, 31, 32, 149}) {
          expect_identical(c.attend(0, row, 1, options), narrow(all, 0, row, 1), cat(what, ", row ", row));
        }
        expect_identical(c.attend(2, 61 + 10, 5, options), narrow(all, 0, 160, 5), cat(what, ", few rows"));
        expect_identical(c.attend(4, 17, 1, options), narrow(all, 0, 280, 1), cat(what, ", the last row"));

        std::vector<Tensor> parts;
        for (size_t s = 0; s < c.sequences.size(); ++s) {
          parts.push_back(narrow(c.queries[s], 0, c.sequences[s].position, c.sequences[s].rows));
        }
        const Tensor query = concat(parts, 0).to_device(device);
        const Tensor apart = narrow(concat(std::vector<Tensor>{query, narrow(query, 2, 0, 2)}, 2), 2, 0, dim);
        expect_identical(paged_attention(apart, c.blocks, c.all_rows(), options), all, cat(what, ", queries apart"));
      }
    }
  }
}

// A value that is not finite reaches the rows that see it and no other.
TEST_F(CudaAttention, HiddenValuesOfPromptsDoNotLeak) {
  for (const int64_t dim : {96, 128, 256}) {
    PagedCase c{64, 16, dim, dim, DType::kBF16, Device::cuda(), {{0, 200}}, {}, {}, {}, {}, {}};
    c.make();
    PagedAttentionOptions options;
    options.scale = 0.1f;
    options.window = 60;
    const Tensor clean = c.attend(options);
    for (const int64_t at : {0, 40, 127, 128, 199}) {
      const Tensor values = c.values[0].clone();
      c.values[0].mutable_data<float>()[at * 16 * dim + dim - 3] = -std::numeric_limits<float>::infinity();
      c.store(0, at, 1);
      const Tensor out = c.attend(options);
      c.values[0] = values;
      c.store(0, at, 1);
      const int64_t seen = std::min<int64_t>(60, 200 - at), behind = at + seen;
      expect_identical(narrow(out, 0, 0, at), narrow(clean, 0, 0, at), cat("rows before ", at));
      expect_identical(narrow(out, 0, behind, 200 - behind), narrow(clean, 0, behind, 200 - behind),
                       cat("rows whose window has passed ", at));
      const std::vector<float> rows = out.to_vector<float>();
      for (int64_t row = at; row < behind; ++row) {
        EXPECT_FALSE(std::isfinite(rows[static_cast<size_t>((row * 64 + 1) * dim - 3)])) << at << " " << row;
      }
    }
  }
}

}  // namespace
}  // namespace wick
#endif
