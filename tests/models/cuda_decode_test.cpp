// Tokens one at a time on CUDA, as kernels and as recorded graphs, against prompts that hold the same tokens.
#if WICK_CUDA
#include <gtest/gtest.h>

#include "formats/checkpoint.h"
#include "models/load_model.h"
#include "models/random_model.h"
#include "nn/kv_cache.h"
#include "support/kernel_cases.h"
#include "support/needs_cuda.h"

namespace wick {
namespace {

struct Case {
  const char *shape, *type;
};

class CudaDecode : public NeedsCuda<testing::TestWithParam<Case>> {};

// Some sequences of one model, whose blocks lie between each other's.
class Sequences {
 public:
  Sequences(const LanguageModel& model, int64_t count, int64_t tokens)
      : model_(model),
        per_sequence_((tokens + kKvBlockTokens - 1) / kKvBlockTokens),
        cache_(model.facts().kv_layers, per_sequence_ * count, DType::kF16, model.device()) {
    for (int64_t s = 0; s < count; ++s) {
      blocks_.emplace_back();
      for (int64_t b = 0; b < per_sequence_; ++b) blocks_.back().push_back(static_cast<int32_t>(b * count + s));
    }
  }

  static int32_t token(int64_t position) { return static_cast<int32_t>(position * 7919 % 4001); }

  // Logits [sequences, vocabulary] of the last token.
  Tensor forward(std::span<const size_t> sequences, int64_t position, int64_t tokens) {
    ForwardBatch batch;
    for (const size_t s : sequences) {
      for (int64_t i = 0; i < tokens; ++i) batch.tokens.push_back(token(position + i));
      batch.sequences.push_back({tokens, position, blocks_[s], nullptr, nullptr, {}});
      batch.logit_rows.push_back(static_cast<int64_t>(batch.tokens.size()) - 1);
    }
    return model_.forward(batch, cache_).to_device(Device::cpu());
  }

 private:
  const LanguageModel& model_;
  int64_t per_sequence_;
  KvCache cache_;
  std::vector<std::vector<int32_t>> blocks_;
};

TEST_P(CudaDecode, HasTheBitsOfAPrompt) {
  const Checkpoint checkpoint =
      Checkpoint::parse(random_gguf(model_shape(GetParam().shape), QuantizePlan::named(GetParam().type)));
  ModelOptions options;
  options.device = Device::cuda();
  options.context = 512;
  const auto model = load_model(WeightSource(checkpoint), options);
  Sequences sequences(*model, 6, 400);
  const auto row = [](const Tensor& logits, int64_t i) { return narrow(logits, 0, i, 1).contiguous(); };
  for (const int64_t position : {0, 1, 31, 127, 128, 390}) {
    SCOPED_TRACE(cat("position ", position));
    const size_t whole[] = {0}, one[] = {1}, several[] = {2, 3, 4, 5};
    const Tensor want = sequences.forward(whole, 0, position + 1);
    if (position > 0) {
      sequences.forward(one, 0, position);
      sequences.forward(several, 0, position);
    }
    for (const char* how : {"kernels", "a new graph", "the same graph"}) {
      expect_identical(sequences.forward(one, position, 1), want, how);
      const Tensor together = sequences.forward(several, position, 1);
      for (int64_t i = 0; i < 4; ++i) expect_identical(row(together, i), want, cat(how, ", row ", i));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, CudaDecode,
                         testing::Values(Case{"smollm2-135m", "bf16"}, Case{"qwen3-0.6b", "f16"},
                                         Case{"qwen3-moe-tiny", "bf16"}, Case{"smollm2-135m", "q8_0"},
                                         Case{"qwen3-0.6b", "q4_k_m"}));

}  // namespace
}  // namespace wick
#endif
