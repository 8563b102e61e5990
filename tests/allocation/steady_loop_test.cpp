// Counts every heap allocation of the process: a forward pass repeated in an arena must make none, nor sampling.
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <vector>

#include "base/thread_pool.h"
#include "engine/sampling/sampler.h"
#include "ops/ops.h"
#include "support/model_fixtures.h"
#include "tensor/arena.h"
#include "tensor/create.h"

namespace {
std::atomic<int64_t> allocations{0};
}

extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);

void* malloc(size_t bytes) {
  ++allocations;
  return __libc_malloc(bytes);
}
void* calloc(size_t count, size_t bytes) {
  ++allocations;
  return __libc_calloc(count, bytes);
}
void* realloc(void* old, size_t bytes) {
  ++allocations;
  return __libc_realloc(old, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) {
  ++allocations;
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** out, size_t alignment, size_t bytes) {
  ++allocations;
  *out = __libc_memalign(alignment, bytes);
  return *out ? 0 : ENOMEM;
}
}

namespace wick {
namespace {

struct Layer {
  Tensor norm = ones({64});
  Tensor qkv = randn({192, 64}, 1), out = randn({64, 64}, 2), up = randn({256, 64}, 3), down = randn({64, 256}, 4);
  Tensor half_up = up.to_dtype(DType::kBF16);
  Tensor cos = rand({9, 16}, 5), sin = rand({9, 16}, 6);
};

// A transformer layer in small: x [9, 64], two heads of 32.
double forward(const Layer& layer, const Tensor& x) {
  const Tensor h = rms_norm(x, layer.norm);
  const Tensor qkv = reshape(matmul(h, transpose(layer.qkv, 0, 1)), {9, 3, 2, 32});
  const auto head = [&](int i) {
    return unsqueeze(permute(squeeze(narrow(qkv, 1, i, 1), 1), {1, 0, 2}), 0);  // [1, 2, 9, 32]
  };
  AttentionOptions options;
  options.causal = true;
  const Tensor mixed = scaled_dot_product_attention(rope(head(0), layer.cos, layer.sin),
                                                    rope(head(1), layer.cos, layer.sin), head(2), options);
  const Tensor attended = reshape(permute(squeeze(mixed, 0), {1, 0, 2}), {9, 64});
  const Tensor y = add(x, matmul(attended, transpose(layer.out, 0, 1)));
  const Tensor gated = mul(silu(matmul(y, transpose(layer.up, 0, 1))), matmul(y, transpose(layer.half_up, 0, 1)));
  const Tensor z = add(y, matmul(gated, transpose(layer.down, 0, 1)));
  const Tensor logits = softmax(layer_norm(z, layer.norm, Tensor(), 1e-5f), -1);
  const Tensor spread = sub(max(logits, {-1}), mean(logits, {-1}));
  return *sum(spread).data<float>() + static_cast<double>(*argmax(flatten(logits), 0).data<int64_t>());
}

// Whether passes come to allocate nothing, many in a row. A thread of the pool allocates its scratch when it first gets
// a piece, which may be late on a busy machine.
template <typename Pass>
bool becomes_quiet(const Pass& pass) {
  int quiet = 0;
  for (int i = 0; i < 2000 && quiet < 20; ++i) {
    const int64_t before = allocations.load();
    pass();
    quiet = allocations.load() == before ? quiet + 1 : 0;
  }
  return quiet == 20;
}

TEST(SteadyLoop, AllocatesNothingFromTheHeap) {
  const Layer layer;
  const Tensor x = randn({9, 64}, 7);
  Arena arena(1 << 16);
  const auto pass = [&] {
    const ArenaScope scope(arena);
    return forward(layer, x);
  };
  const double expected = pass();
  EXPECT_TRUE(becomes_quiet([&] { EXPECT_EQ(pass(), expected); }));
}

// Decoding with a paged cache: keys of one more row are stored, then attended to; with splits side by side and without.
TEST(SteadyLoop, PagedAttentionAllocatesNothing) {
  for (const int64_t kv_heads : {1, 8}) {
    const KvBlocks blocks{zeros({300, kv_heads, 32, kKvBlockTokens}, DType::kF16),
                          zeros({300, kv_heads, kKvBlockTokens, 32}, DType::kF16), Tensor(), Tensor()};
    const Tensor query = randn({1, 8, 32}, 1), key = randn({1, kv_heads, 32}, 2), value = randn({1, kv_heads, 32}, 3);
    const PagedRows rows{tensor<int32_t>({0, 1}), tensor<int32_t>({4500}),
                         reshape(arange(0, 300, 1, DType::kI32), {1, 300})};
    Arena arena(1 << 16);
    const auto pass = [&] {
      const ArenaScope scope(arena);
      store_kv(key, value, rows, blocks);
      paged_attention(query, blocks, rows, {});
    };
    EXPECT_TRUE(becomes_quiet(pass));
  }
}

// A token of an answer, from the batch to the logits, after the first.
TEST(SteadyLoop, DecodingAllocatesNothing) {
  for (const char* family : {"llama", "gemma3", "qwen3", "gpt2", "falcon"}) {
    const TestModel model(family_folder(family), {}, DType::kF16);
    TestSequence sequence(model);
    sequence.run(model, some_tokens(20, 1), false);
    Arena arena;
    ForwardBatch batch;
    const std::vector<int32_t> token = {7};
    const auto pass = [&] {
      const ArenaScope scope(arena);
      batch.clear();
      sequence.add_to(batch, token, false);
      model.model->forward(batch, model.cache);
    };
    EXPECT_TRUE(becomes_quiet(pass)) << family;
  }
}

TEST(SteadyLoop, SamplingAllocatesNothingFromTheHeap) {
  std::vector<float> logits(5000);
  for (size_t i = 0; i < logits.size(); ++i) logits[i] = static_cast<float>(i * i % 97) / 10;
  const std::vector<uint32_t> mask(logits.size() / 32 + 1, 0x55555555);
  for (const SamplingParams& params :
       {SamplingParams{}, SamplingParams{.temperature = 0}, SamplingParams{.top_p = 0.9f},
        SamplingParams{.mirostat = true}, SamplingParams{.logprobs = 0},
        SamplingParams{.top_k = 40,
        .min_p = 0.01f,
        .typical_p = 0.9f,
        .repetition_penalty = 1.1f,
        .dry_multiplier = 1,
        .dry_breakers = {},
        .xtc_probability = 0.5f}}) {
    Sampler sampler(params, static_cast<int64_t>(logits.size()));
    const auto answer = [&] {
      for (int i = 0; i < 50; ++i) sampler.accept(sampler.sample(logits, mask).token);
      sampler.rollback(50);
    };
    answer();
    const int64_t before = allocations.load();
    answer();
    EXPECT_EQ(allocations.load() - before, 0);
  }
}

TEST(SteadyLoop, TheCounterCounts) {
  const int64_t before = allocations.load();
  EXPECT_EQ(sum(full({10}, 1)).item(), 10);  // on the heap, without an arena
  EXPECT_GT(allocations.load(), before);
}

}  // namespace
}  // namespace wick
