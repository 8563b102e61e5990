#include <gtest/gtest.h>

#include <cmath>

#include "base/thread_pool.h"
#include "support/compare.h"
#include "support/devices.h"
#include "support/errors.h"
#include "support/paged_cases.h"
#include "support/targets.h"

namespace wick {
namespace {

using Sequences = std::vector<PagedCase::Sequence>;

constexpr DType kPoolTypes[] = {DType::kF32, DType::kF16, DType::kBF16, DType::kI8};

PagedAttentionOptions scaled(int64_t dim) {
  return {.scale = 1.0f / std::sqrt(static_cast<float>(dim)),
          .sinks = Tensor(),
          .alibi_slopes = Tensor(),
          .distance_bias = Tensor()};
}

// The CPU on each of its instruction sets, other devices once.
template <typename Body>
void everywhere(Device device, const Body& body) {
  if (device == Device::cpu()) {
    on_every_target([&](const std::string&) { body(); });
  } else {
    body();
  }
}

class PagedAttention : public OnEveryDevice {
 protected:
  PagedCase made(int64_t heads, int64_t kv_heads, int64_t dim, int64_t value_dim, DType dtype,
                 const Sequences& sequences) const {
    PagedCase c{heads, kv_heads, dim, value_dim, dtype, device(), sequences, {}, {}, {}, {}, {}};
    c.make();
    return c;
  }
  void expect_plain(const PagedCase& c, const PagedAttentionOptions& options, const std::string& what) const {
    const Tensor want = c.expected(options);
    const auto moved = [&](const Tensor& x) { return x.defined() ? x.to_device(device()) : x; };
    PagedAttentionOptions there = options;
    there.sinks = moved(options.sinks);
    there.alibi_slopes = moved(options.alibi_slopes);
    there.distance_bias = moved(options.distance_bias);
    // CUDA rounds queries and weights to f16 or bf16 where keys and values are, or where they are in 8 bits.
    double tolerance = 6e-6;
    if (device().kind() == DeviceKind::kCuda && c.dtype != DType::kF32) {
      tolerance = c.dtype == DType::kF16 ? 3e-3 : c.dtype == DType::kBF16 ? 2e-2 : 1e-2;
    }
    everywhere(device(), [&] { expect_close(c.attend(there), want, tolerance, what); });
  }
};
WICK_ON_EVERY_DEVICE(PagedAttention);

TEST_P(PagedAttention, RaggedBatches) {
  const std::pair<int64_t, int64_t> dims[] = {{16, 16}, {64, 64}, {80, 80}, {128, 128}, {256, 256}, {24, 40}, {33, 17}};
  for (const DType dtype : kPoolTypes) {
    for (const auto& [dim, value_dim] : dims) {
      // A first chunk, a chunk at an offset, decodes, none at all, a second chunk behind whole blocks.
      const PagedCase c = made(4, 2, dim, value_dim, dtype, {{0, 19}, {37, 30}, {64, 1}, {0, 0}, {130, 1}, {48, 17}});
      expect_plain(c, scaled(dim), cat(to_string(dtype), " dim ", dim, ", ", value_dim));
    }
  }
}

TEST_P(PagedAttention, GroupsOfHeads) {
  for (const int64_t group : {1, 2, 3, 4, 8, 13}) {
    for (const DType dtype : {DType::kF32, DType::kF16}) {
      const PagedCase c = made(2 * group, 2, 32, 48, dtype, {{0, 3}, {70, 1}, {100, 40}});
      expect_plain(c, scaled(32), cat(group, " heads per key head, ", to_string(dtype)));
    }
  }
}

TEST_P(PagedAttention, EveryOption) {
  for (const DType dtype : {DType::kF32, DType::kI8}) {
    const PagedCase c = made(6, 2, 32, 32, dtype, {{0, 70}, {199, 1}, {150, 33}});
    PagedAttentionOptions options = scaled(32);
    for (const int64_t window : {1, 7, 16, 64, 65, 100, 1000}) {
      options.window = window;
      expect_plain(c, options, cat("window ", window));
    }
    options = scaled(32);
    for (const int64_t chunk : {1, 7, 16, 64, 65, 100, 1000}) {
      options.chunk = chunk;
      expect_plain(c, options, cat("chunk ", chunk));
    }
    options.window = 30;
    options.chunk = 41;
    expect_plain(c, options, "window and chunk");
    options = scaled(32);
    options.soft_cap = 1.5f;
    expect_plain(c, options, "soft cap");
    options.window = 50;
    options.sinks = randn({6}, 7);
    expect_plain(c, options, "soft cap, window and sinks");
    options = scaled(32);
    options.sinks = full({6}, 3);
    expect_plain(c, options, "sinks");
    options.alibi_slopes = tensor({0.5f, 0.25f, 0.0f, 0.125f, -0.01f, 1.0f});
    expect_plain(c, options, "sinks and alibi");
    for (const int64_t distances : {1, 23, 200}) {
      options.distance_bias = randn({6, distances}, 11);
      expect_plain(c, options, cat("sinks, alibi and ", distances, " distances"));
    }
    options.scale = -0.3f;
    options.soft_cap = 4;
    options.window = 90;
    expect_plain(c, options, "all");
  }
}

TEST_P(PagedAttention, ManyKeys) {
  for (const DType dtype : {DType::kF32, DType::kF16}) {
    const PagedCase c = made(2, 1, 16, 16, dtype, {{2100, 3}, {1023, 2}, {1500, 1}});
    expect_plain(c, scaled(16), "three splits");
    PagedAttentionOptions options = scaled(16);
    options.window = 1030;
    options.sinks = randn({2}, 3);
    expect_plain(c, options, "a window over two splits");
  }
}

// The bits of a row: alone, in chunks of any length, with other sequences, on any number of threads.
TEST_P(PagedAttention, ARowDependsOnItselfAlone) {
  const int before = ThreadPool::instance().size();
  for (const DType dtype : kPoolTypes) {
    const PagedCase c =
        device() == Device::cpu()         ? made(6, 2, 40, 48, dtype, {{0, 75}, {0, 130}, {1100, 60}, {2060, 1}})
        : device() == Device::reference() ? made(2, 1, 8, 8, dtype, {{0, 75}, {1020, 6}})
                                          : made(8, 2, 128, 128, dtype, {{0, 75}, {0, 130}, {1100, 300}, {2060, 1}});
    PagedAttentionOptions options = scaled(40);
    options.window = dtype == DType::kBF16 ? 50 : 0;
    options.chunk = dtype == DType::kF16 ? 45 : dtype == DType::kI8 ? 1030 : 0;
    everywhere(device(), [&] {
      ThreadPool::instance().resize(1);
      const Tensor all = c.attend(options);
      for (const int threads : {2, 3}) {
        ThreadPool::instance().resize(threads);
        expect_identical(c.attend(options), all, cat(threads, " threads"));
      }
      int64_t at = 0;
      for (size_t s = 0; s < c.sequences.size(); ++s) {
        const auto [position, rows] = c.sequences[s];
        const Tensor whole = narrow(all, 0, at, rows);
        at += rows;
        for (const int64_t chunk : {1, 2, 7, 33, 64}) {
          for (int64_t i = 0; i < rows; i += chunk == 1 ? 11 : chunk) {
            const int64_t count = std::min(chunk, rows - i);
            expect_identical(c.attend(s, position + i, count, options), narrow(whole, 0, i, count),
                             cat(to_string(dtype), " sequence ", s, " row ", i, " of chunks of ", chunk));
          }
        }
      }
    });
  }
  ThreadPool::instance().resize(before);
}

// With one key head and more threads than rows, splits of the keys run side by side.
TEST_P(PagedAttention, SplitsSideBySideGiveTheSameBits) {
  const int before = ThreadPool::instance().size();
  for (const DType dtype : {DType::kF16, DType::kI8}) {
    const PagedCase c = made(4, 1, device() == Device::reference() ? 8 : 64, 64, dtype, {{4000, 1}, {2500, 2}});
    everywhere(device(), [&] {
      ThreadPool::instance().resize(1);
      const Tensor all = c.attend(scaled(64));
      for (const int threads : {2, 3, 5}) {
        ThreadPool::instance().resize(threads);
        expect_identical(c.attend(scaled(64)), all, cat(threads, " threads"));
        expect_identical(c.attend(0, 4000, 1, scaled(64)), narrow(all, 0, 0, 1), cat(threads, " threads, alone"));
      }
    });
  }
  ThreadPool::instance().resize(before);
}

// How the keys came into the pool makes no difference to the pool.
TEST_P(PagedAttention, StoringInPiecesGivesTheSamePool) {
  for (const DType dtype : kPoolTypes) {
    PagedCase c = made(2, 2, 33, 20, dtype, {{0, 100}});
    const KvBlocks whole = c.blocks;
    everywhere(device(), [&] {
      for (const int64_t chunk : {1, 5, 16, 40}) {
        c.blocks = c.empty_pool();
        for (int64_t i = 0; i < 100; i += chunk) c.store(0, i, std::min(chunk, 100 - i));
        expect_identical(c.blocks.key, whole.key, cat(to_string(dtype), " keys by ", chunk));
        expect_identical(c.blocks.value, whole.value, cat(to_string(dtype), " values by ", chunk));
        if (dtype == DType::kI8) expect_identical(c.blocks.key_scale, whole.key_scale, "key scales");
      }
    });
  }
}

TEST_P(PagedAttention, PoolsEqualTheReference) {
  for (const DType dtype : kPoolTypes) {
    PagedCase c = made(2, 2, 35, 20, dtype, {{0, 50}, {3, 20}});
    PagedCase plain = c;
    plain.device = Device::reference();
    plain.make();
    everywhere(device(), [&] {
      c.make();
      expect_identical(c.blocks.key.to_device(Device::cpu()), plain.blocks.key.to_device(Device::cpu()), "keys");
      expect_identical(c.blocks.value.to_device(Device::cpu()), plain.blocks.value.to_device(Device::cpu()), "values");
    });
  }
}

TEST_P(PagedAttention, OddNumbersInI8) {
  PagedCase c = made(1, 1, 20, 20, DType::kI8, {{0, 4}});
  const float inf = std::numeric_limits<float>::infinity();
  for (Tensor* x : {&c.keys[0], &c.values[0]}) {
    float* data = x->mutable_data<float>();
    std::fill_n(data, 20, 0.0f);
    std::fill_n(data + 20, 20, 1e-40f);
    data[47] = inf;
    data[69] = std::nanf("");
  }
  everywhere(device(), [&] {
    c.store(0, 0, 4);
    const auto scales = narrow(c.blocks.key_scale, 0, c.table[0], 1).to_vector<float>();
    EXPECT_EQ(scales[0], 0);
    EXPECT_EQ(scales[2], inf);
    EXPECT_TRUE(std::isnan(scales[3]));
    const auto out = c.attend(0, 1, 3, scaled(20)).to_vector<float>();
    EXPECT_EQ(out[0], 0);
    EXPECT_TRUE(std::isnan(out[20]));
  });
}

// Blocks before the window may have been given away: their table entries are not looked at.
TEST_P(PagedAttention, BlocksBeforeTheWindowAreNotRead) {
  PagedCase c = made(2, 1, 16, 16, DType::kF32, {{150, 4}});
  PagedAttentionOptions options = scaled(16);
  options.window = 40;
  const Tensor want = c.expected(options);
  for (int64_t b = 0; b < (150 - 39) / kKvBlockTokens; ++b) c.table[b] = -1000000;
  everywhere(device(), [&] { expect_close(c.attend(options), want, 4e-6, "window"); });
  options.window = 0;
  options.chunk = 37;  // the fourth one begins at 148
  const Tensor of_chunk = c.expected(options);
  for (int64_t b = 0; b < 148 / kKvBlockTokens; ++b) c.table[b] = -1000000;
  everywhere(device(), [&] { expect_close(c.attend(options), of_chunk, 4e-6, "chunk"); });
  options.chunk = 0;
  options.window = 60;
  if (device().is_host())
    EXPECT_ERROR(c.attend(options), kInvalidArgument, "entry 5 of the table of sequence 0 is block -1000000");
}

// A value that a row does not see cannot reach it, even where rows are computed together.
TEST_P(PagedAttention, HiddenValuesDoNotLeak) {
  PagedCase c = made(2, 1, 64, 64, DType::kF16, {{0, 90}});
  PagedAttentionOptions options = scaled(64);
  options.window = 20;
  everywhere(device(), [&] {
    c.make();
    const Tensor clean = c.attend(options);
    c.values[0].mutable_data<float>()[40 * 64] = std::nanf("");
    c.store(0, 40, 1);
    const Tensor out = c.attend(options);
    expect_identical(narrow(out, 0, 0, 40), narrow(clean, 0, 0, 40), "rows before the NaN");
    expect_identical(narrow(out, 0, 60, 30), narrow(clean, 0, 60, 30), "rows whose window has passed it");
    for (int64_t row = 40; row < 60; ++row) EXPECT_TRUE(std::isnan(out.to_vector<float>()[row * 128]));
  });
}

TEST_P(PagedAttention, NanQueriesGiveNan) {
  PagedCase c = made(2, 1, 16, 16, DType::kF16, {{1100, 40}});
  c.queries[0].mutable_data<float>()[1110 * 32] = std::nanf("");  // row 10, head 0
  everywhere(device(), [&] {
    const auto out = c.attend(scaled(16)).to_vector<float>();
    for (int64_t i = 0; i < 40 * 32; ++i) EXPECT_EQ(std::isnan(out[i]), i / 16 == 20) << i;
  });
}

TEST_P(PagedAttention, TakesStridedTensors) {
  const PagedCase c = made(4, 2, 24, 16, DType::kBF16, {{0, 40}, {17, 3}});
  const Tensor want = c.attend(scaled(24));
  // A pool that holds three layers per block, queries inside a wider projection, a table with room to spare.
  const auto layered = [&](const Tensor& x) {
    return narrow(concat(std::vector<Tensor>{x, x, x}, 1), 1, x.dim(1), x.dim(1));
  };
  const KvBlocks pool{layered(c.blocks.key), layered(c.blocks.value), Tensor(), Tensor()};
  PagedRows rows = c.all_rows();
  rows.block_table = narrow(concat(std::vector<Tensor>{rows.block_table, rows.block_table}, 1), 1, 0, c.most_blocks);
  const Tensor q = concat(std::vector<Tensor>{c.queries[0], narrow(c.queries[1], 0, 17, 3)}, 0).to_device(device());
  const Tensor wide = concat(std::vector<Tensor>{q, q}, 1), turned = transpose(transpose(q, 1, 2).contiguous(), 1, 2);
  everywhere(device(), [&] {
    expect_close(paged_attention(narrow(wide, 1, 4, 4), pool, rows, scaled(24)), want, 4e-6, "apart");
    expect_close(paged_attention(turned, pool, rows, scaled(24)), want, 4e-6, "turned");
  });
}

TEST_P(PagedAttention, NoRowsAtAll) {
  const PagedCase c = made(2, 1, 16, 24, DType::kF32, {{5, 0}, {9, 0}});
  EXPECT_EQ(c.attend(scaled(16)).shape(), (Shape{0, 2, 24}));
}

TEST_P(PagedAttention, SaysWhatIsWrong) {
  const PagedCase c = made(4, 2, 16, 24, DType::kF32, {{20, 3}, {0, 2}});
  const Tensor q = ones({5, 4, 16}, DType::kF32, device());
  const Tensor k = ones({5, 2, 16}, DType::kF32, device()), v = ones({5, 2, 24}, DType::kF32, device());
  const auto ints = [&](const std::vector<int32_t>& values, const Shape& shape) {
    return from_vector(values, shape, device());
  };
  const auto attend = [&](const auto& change) {
    Tensor query = q;
    KvBlocks blocks = c.blocks;
    PagedRows rows = c.all_rows();
    PagedAttentionOptions options;
    change(query, blocks, rows, options);
    return paged_attention(query, blocks, rows, options);
  };
#define EXPECT_BAD(change, code, part)                                                                                \
  EXPECT_ERROR(                                                                                                       \
      attend([&]([[maybe_unused]] Tensor& query, [[maybe_unused]] KvBlocks& blocks, [[maybe_unused]] PagedRows& rows, \
                 [[maybe_unused]] PagedAttentionOptions& options) { change; }),                                       \
      code, part)
  EXPECT_BAD(query = Tensor(), kInvalidArgument, "paged_attention: an input tensor is empty");
  EXPECT_BAD(query = reshape(q, {5, 64}), kShape, "query has shape [5, 64], expected rank 3");
  EXPECT_BAD(query = q.to_dtype(DType::kF16), kDType, "paged_attention: query is f16, expected f32");
  EXPECT_BAD(query = ones({5, 4, 20}, DType::kF32, device()), kShape, "expected [5, 4, 16]");
  EXPECT_BAD(query = ones({5, 3, 16}, DType::kF32, device()), kShape, "3 heads are not a multiple of 2 key heads");
  const bool looks = device().is_host();  // numbers in rows are checked there
  if (looks) {
    EXPECT_BAD(query = ones({6, 4, 16}, DType::kF32, device()), kInvalidArgument,
               "row_starts goes from 0 to 5, expected 0 to 6, the number of rows");
  }
  EXPECT_BAD(blocks.key = c.blocks.key.to_dtype(DType::kF64), kDType, "the key pool is f64");
  EXPECT_BAD(blocks.value = c.blocks.value.to_dtype(DType::kF16), kDType, "the value pool is f16, expected f32");
  EXPECT_BAD(blocks.key = narrow(c.blocks.key, 3, 0, 8), kShape, "expected [blocks, kv_heads, head_dim, 16]");
  EXPECT_BAD(blocks.value = narrow(c.blocks.value, 1, 0, 1), kShape, "the value pool has shape");
  EXPECT_BAD(blocks.value = transpose(transpose(c.blocks.value, 2, 3).contiguous(), 2, 3), kInvalidArgument,
             "is not row-major within a head");
  EXPECT_BAD(blocks.key_scale = q, kInvalidArgument, "key_scale is given for a pool of f32");
  EXPECT_BAD((blocks.key = c.blocks.key.to_dtype(DType::kI8), blocks.value = c.blocks.value.to_dtype(DType::kI8)),
             kInvalidArgument, "key_scale is missing for a pool of i8");
  EXPECT_BAD(rows.positions = rows.positions.to_dtype(DType::kI64), kDType, "positions is i64, expected i32");
  EXPECT_BAD(rows.row_starts = ints({0, 5}, {2}), kShape, "row_starts has shape [2], expected [3]");
  if (looks) {
    EXPECT_BAD(rows.row_starts = ints({1, 3, 5}, {3}), kInvalidArgument, "row_starts goes from 1 to 5");
    EXPECT_BAD(rows.row_starts = ints({0, 7, 5}, {3}), kInvalidArgument, "row_starts falls from 7 to 5 at sequence 1");
    EXPECT_BAD(rows.positions = ints({-1, 0}, {2}), kInvalidArgument, "sequence 0 starts at position -1");
    EXPECT_BAD(rows.positions = ints({30, 0}, {2}), kInvalidArgument,
               "sequence 0 reaches position 32, but its table has room for 32");
    EXPECT_BAD(rows.block_table = ints({0, 7, 2, 99}, {2, 2}), kInvalidArgument,
               "entry 1 of the table of sequence 0 is block 7, but the pool has 7 blocks");
  }
  EXPECT_BAD(rows.block_table = ints({0, 1}, {1, 2}), kShape, "block_table has shape [1, 2], expected [2, 2]");
  EXPECT_BAD(options.window = -1, kInvalidArgument, "window -1 is below 0");
  EXPECT_BAD(options.chunk = -1, kInvalidArgument, "chunk -1 is below 0");
  EXPECT_BAD(options.soft_cap = -2, kInvalidArgument, "soft cap -2 is not a finite size");
  EXPECT_BAD(options.sinks = ones({3}, DType::kF32, device()), kShape, "sinks has shape [3], expected [4]");
  EXPECT_BAD(options.alibi_slopes = ones({4}, DType::kF64, device()), kDType, "alibi_slopes is f64, expected f32");
  EXPECT_BAD(options.distance_bias = ones({3, 5}, DType::kF32, device()), kShape,
             "distance_bias has shape [3, 5], expected [4, 5]");
  EXPECT_BAD(options.distance_bias = empty({4, 0}, DType::kF32, device()), kShape, "is for 0 distances");
  const Device other = device() == Device::cpu() ? Device::reference() : Device::cpu();
  EXPECT_BAD(rows.positions = rows.positions.to_device(other), kDevice, "paged_attention: one tensor is on");

  EXPECT_ERROR(store_kv(k.to_dtype(DType::kF16), v, c.all_rows(), c.blocks), kDType, "store_kv: key is f16");
  EXPECT_ERROR(store_kv(v, v, c.all_rows(), c.blocks), kShape,
               "store_kv: key has shape [5, 2, 24], expected [5, 2, 16]");
  EXPECT_ERROR(store_kv(k, narrow(v, 0, 0, 4), c.all_rows(), c.blocks), kShape, "store_kv: value has shape");
  PagedRows rows = c.all_rows();
  rows.block_table = ints({99, 1, -3, 99}, {2, 2});  // the first is not written to
  if (looks)
    EXPECT_ERROR(store_kv(k, v, rows, c.blocks), kInvalidArgument, "entry 0 of the table of sequence 1 is block -3");
#undef EXPECT_BAD
}

}  // namespace
}  // namespace wick
