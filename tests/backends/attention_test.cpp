#include <gtest/gtest.h>

#include <cmath>

#include <limits>

#include "support/kernel_cases.h"

namespace wick {
namespace {

struct Sizes {
  int64_t batch, heads, kv_heads, queries, keys, dim, value_dim;
};
constexpr Sizes kSizes[] = {
    {1, 1, 1, 1, 1, 1, 1},     {1, 2, 1, 5, 17, 8, 8},    {2, 4, 2, 17, 65, 20, 12},  {1, 6, 2, 7, 130, 64, 64},
    {1, 1, 1, 70, 70, 33, 47}, {1, 8, 1, 1, 259, 64, 80}, {1, 3, 3, 65, 127, 16, 16}, {1, 2, 2, 250, 250, 8, 8},
};

struct Attended {
  Tensor q, k, v;
};
Attended inputs(const Sizes& s, DType dtype) {
  return {randn({s.batch, s.heads, s.queries, s.dim}, 1, dtype), randn({s.batch, s.kv_heads, s.keys, s.dim}, 2, dtype),
          randn({s.batch, s.kv_heads, s.keys, s.value_dim}, 3, dtype)};
}

Tensor attend(const Attended& in, const AttentionOptions& options) {
  return scaled_dot_product_attention(in.q, in.k, in.v, options);
}

double tolerance(DType dtype) {
  if (dtype == DType::kF64) return 1e-13;
  if (dtype == DType::kF32) return 4e-6;
  return dtype == DType::kF16 ? 2e-3 : 1e-2;
}

void expect_matches_reference(const Attended& in, const AttentionOptions& options, const std::string& what) {
  const auto on = [&](Device device) {
    AttentionOptions there = options;
    there.mask = moved(options.mask, device);
    return attend({moved(in.q, device), moved(in.k, device), moved(in.v, device)}, there);
  };
  const Tensor want = on(Device::reference());
  for (const Device device : tuned_devices()) {
    expect_close(on(device), want, tolerance(in.q.dtype()), cat(what, " on ", device));
  }
}

TEST(AttentionKernels, MatchesReferenceAtAwkwardSizes) {
  on_every_target([](const std::string&) {
    for (const Sizes& s : kSizes) {
      for (const bool causal : {false, true}) {
        AttentionOptions options;
        options.causal = causal;
        expect_matches_reference(inputs(s, DType::kF32), options, cat(s.queries, " x ", s.keys, " causal ", causal));
      }
    }
  });
}

TEST(AttentionKernels, EveryDType) {
  on_every_target([](const std::string&) {
    for (const DType dtype : {DType::kF16, DType::kBF16, DType::kF64}) {
      for (const Sizes& s : {kSizes[2], kSizes[4], kSizes[5]}) {
        expect_matches_reference(inputs(s, dtype), {.causal = true}, std::string(to_string(dtype)));
      }
    }
  });
}

TEST(AttentionKernels, MasksOfAnyStrides) {
  const Sizes s{2, 4, 2, 9, 140, 16, 16};
  on_every_target([&](const std::string&) {
    for (const DType dtype : {DType::kF32, DType::kF64}) {
      const Attended in = inputs(s, dtype);
      AttentionOptions options{.mask = randn({s.batch, s.heads, s.queries, s.keys}, 4)};
      expect_matches_reference(in, options, "whole mask");
      options.mask = randn({s.keys}, 5);
      expect_matches_reference(in, options, "one row for all");
      options.mask = transpose(randn({s.keys, s.queries}, 6), 0, 1);
      options.causal = true;
      expect_matches_reference(in, options, "turned, with causal");
      options.mask = gt(randn({s.batch, 1, s.queries, s.keys}, 7), scalar(0.5));
      expect_matches_reference(in, options, "u8");
      options.scale = -0.3f;
      expect_matches_reference(in, options, "negative scale");
    }
  });
}

TEST(AttentionKernels, TakesAnyStrides) {
  on_every_target([](const std::string&) {
    for (const DType dtype : {DType::kF32, DType::kBF16}) {
      // Stored [batch, tokens, heads, dim], and with the head dimension outermost.
      const auto heads_inside = [&](uint64_t seed) { return transpose(randn({1, 70, 4, 24}, seed, dtype), 1, 2); };
      expect_matches_reference({heads_inside(1), heads_inside(2), heads_inside(3)}, {.causal = true}, "tokens first");
      const auto turned = [&](uint64_t seed) { return transpose(randn({1, 2, 24, 70}, seed, dtype), 2, 3); };
      expect_matches_reference({turned(1), turned(2), turned(3)}, {}, "turned");
    }
  });
}

TEST(AttentionKernels, RowsThatSeeNothingAreZero) {
  const float inf = std::numeric_limits<float>::infinity();
  on_every_target([&](const std::string&) {
    Attended in = inputs({1, 2, 1, 90, 70, 8, 8}, DType::kF32);  // more queries than keys: the first see none
    const Tensor out = attend(in, {.causal = true});
    expect_identical(narrow(out, 2, 0, 20), zeros({1, 2, 20, 8}), "before the first key");
    expect_identical(attend(in, {.mask = full({70}, -inf)}), zeros({1, 2, 90, 8}), "all masked");
    in = inputs({1, 1, 1, 3, 0, 8, 8}, DType::kF32);
    expect_identical(attend(in, {}), zeros({1, 1, 3, 8}), "no keys");
    // A whole block masked before the first key that is seen.
    in = inputs({1, 1, 1, 2, 100, 8, 8}, DType::kF32);
    const Tensor late = full({100}, -inf);
    for (int i = 80; i < 100; ++i) late.mutable_data<float>()[i] = 0;
    expect_matches_reference(in, {.mask = late}, "late keys only");
  });
}

TEST(AttentionKernels, HiddenValuesDoNotLeak) {
  on_every_target([](const std::string&) {
    const Attended in = inputs({1, 1, 1, 80, 80, 8, 8}, DType::kF32);
    const Tensor clean = attend(in, {.causal = true});
    in.v.mutable_data<float>()[79 * 8] = std::numeric_limits<float>::quiet_NaN();
    const Tensor out = attend(in, {.causal = true});
    expect_identical(narrow(out, 2, 0, 79), narrow(clean, 2, 0, 79), "rows that do not see the NaN");
    EXPECT_TRUE(std::isnan(out.to_vector<float>()[79 * 8]));
  });
}

TEST(AttentionKernels, NanQueriesGiveNan) {
  on_every_target([](const std::string&) {
    const Attended in = inputs({1, 1, 1, 3, 80, 8, 8}, DType::kF32);
    in.q.mutable_data<float>()[8] = std::numeric_limits<float>::quiet_NaN();
    const auto out = attend(in, {}).to_vector<float>();
    EXPECT_FALSE(std::isnan(out[0]));
    EXPECT_TRUE(std::isnan(out[8]));
  });
}

// A row alone, with the keys it sees, against the same row in a long prompt.
TEST(AttentionKernels, ARowDoesNotDependOnItsNeighbours) {
  on_every_target([](const std::string&) {
    for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF64}) {
      const Attended in = inputs({1, 4, 2, 210, 210, 16, 16}, dtype);
      const Tensor all = attend(in, {.causal = true});
      for (const int64_t row : {0, 1, 5, 63, 64, 65, 127, 128, 200, 209}) {
        const Attended alone{narrow(in.q, 2, row, 1), narrow(in.k, 2, 0, row + 1), narrow(in.v, 2, 0, row + 1)};
        expect_identical(attend(alone, {.causal = true}), narrow(all, 2, row, 1), cat("row ", row));
      }
      const Attended chunk{narrow(in.q, 2, 100, 77), narrow(in.k, 2, 0, 177), narrow(in.v, 2, 0, 177)};
      expect_identical(attend(chunk, {.causal = true}), narrow(all, 2, 100, 77), "chunk");
      const Attended pair{narrow(in.q, 1, 0, 2), narrow(in.k, 1, 0, 1), narrow(in.v, 1, 0, 1)};
      expect_identical(attend(pair, {.causal = true}), narrow(all, 1, 0, 2), "one group of heads");
    }
  });
}

// Few rows read keys and values where they lie, many rows read packed copies: the bits are the same.
TEST(AttentionKernels, FewRowsAndManyGiveTheSameBits) {
  on_every_target([](const std::string&) {
    for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16}) {
      for (const auto& [dim, value_dim] : {std::pair<int64_t, int64_t>{64, 64}, {40, 32}, {36, 48}, {20, 17}}) {
        const Attended in = inputs({1, 2, 1, 40, 200, dim, value_dim}, dtype);
        const Tensor all = attend(in, {.causal = true});
        for (int64_t count = 1; count <= 4; ++count) {
          const Attended last{narrow(in.q, 2, 40 - count, count), in.k, in.v};
          expect_identical(attend(last, {.causal = true}), narrow(all, 2, 40 - count, count),
                           cat(to_string(dtype), " dim ", dim, ", the last ", count));
        }
        // Keys and values whose rows lie apart, as in a cache of [tokens, heads, dim].
        const auto apart = [](const Tensor& x) { return transpose(transpose(x, 1, 2).contiguous(), 1, 2); };
        const Tensor k = concat(std::vector<Tensor>{in.k, in.k}, 1), v = concat(std::vector<Tensor>{in.v, in.v}, 1);
        const Attended spread{narrow(in.q, 2, 39, 1), narrow(apart(k), 1, 1, 1), narrow(apart(v), 1, 1, 1)};
        expect_identical(attend(spread, {.causal = true}), narrow(all, 2, 39, 1), cat(to_string(dtype), " apart"));
      }
    }
  });
}

TEST(AttentionKernels, ThreadsDoNotChangeTheResult) {
  const int before = ThreadPool::instance().size();
  const Attended in = inputs({2, 4, 2, 210, 300, 32, 32}, DType::kF32);
  Tensor first;
  for (const int threads : {1, 2, 3, 4}) {
    ThreadPool::instance().resize(threads);
    const Tensor out = attend(in, {.causal = true});
    if (threads == 1) first = out;
    expect_identical(out, first, cat(threads, " threads"));
  }
  ThreadPool::instance().resize(before);
}

}  // namespace
}  // namespace wick
