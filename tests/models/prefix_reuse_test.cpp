// A text that goes on from another's blocks and state, cut at the end of a block, gets the bits it would get alone.
#include <gtest/gtest.h>

#include "ops/view.h"
#include "support/compare.h"
#include "support/hybrid_models.h"
#include "support/model_fixtures.h"
#include "support/reference_models.h"

namespace wick {
namespace {

class PrefixReuseTest : public testing::TestWithParam<const char*> {};

TEST_P(PrefixReuseTest, GoesOnBitForBit) {
  const TestModel model(model_folder(GetParam()));
  const std::vector<int32_t> text = some_tokens(75, 1), other = some_tokens(75, 2);
  const Tensor expected = TestSequence(model, 40).run(model, text);
  for (const int64_t kept : {kKvBlockTokens, 3 * kKvBlockTokens}) {
    TestSequence first(model);
    first.run(model, std::span(text).first(static_cast<size_t>(kept)));
    const RecurrentState saved = first.state.clone(), untouched = saved.clone();
    first.run(model, std::span(other).subspan(static_cast<size_t>(kept)));  // goes another way
    for (const int64_t chunk : {int64_t{1}, int64_t{7}, int64_t{100}}) {
      TestSequence second(model, 20);
      std::copy_n(first.blocks.begin(), kept / kKvBlockTokens, second.blocks.begin());
      second.state = saved.clone();
      second.position = kept;
      while (second.position < std::ssize(text)) {
        const int64_t from = second.position, count = std::min(chunk, std::ssize(text) - from);
        const Tensor logits = second.run(model, std::span(text).subspan(from, count));
        expect_identical(logits, narrow(expected, 0, from, count).contiguous(), cat("from ", kept, ", at ", from));
      }
    }
    for (size_t i = 0; i < saved.tensors.size(); ++i) {
      expect_identical(saved.tensors[i], untouched.tensors[i], cat("saved state tensor ", i));
    }
  }
}

TEST_P(PrefixReuseTest, StatesKnowTheirSize) {
  const TestModel model(model_folder(GetParam()));
  const RecurrentState state = model.model->new_state();
  int64_t floats = 0;
  for (const Tensor& tensor : state.tensors) floats += std::ssize(tensor.to_vector<float>());
  EXPECT_EQ(state.bytes(), 4 * floats);
  EXPECT_EQ(state.bytes() > 0, model.model->facts().recurrent);
}

INSTANTIATE_TEST_SUITE_P(All, PrefixReuseTest,
                         testing::Values("llama", "mistral", "gemma3", "lfm2", "mamba", "mamba2", "rwkv", "mamba2-moe",
                                         "delta-rule", "mamba-moe", "side-by-side", "one-part-each", "griffin",
                                         "matrix-memory"),
                         [](const auto& test) { return test_name(test.param); });

}  // namespace
}  // namespace wick
