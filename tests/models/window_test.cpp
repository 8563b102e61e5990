// Blocks that fall out of every window can be given up, overwritten and used for another text.
#include <gtest/gtest.h>

#include <cstring>
#include <deque>

#include "ops/view.h"
#include "support/compare.h"
#include "support/devices.h"
#include "support/errors.h"
#include "support/model_fixtures.h"
#include "support/temp_folder.h"

namespace wick {
namespace {

int64_t window_of(const std::filesystem::path& folder) { return TestModel(folder).model->facts().window; }

TEST(WindowTest, IsTheWidestOfAllLayers) {
  EXPECT_EQ(window_of(family_folder("mistral")), 8);
  // Of these, some layer sees everything.
  for (const char* family : {"llama", "mixtral", "gemma2", "gemma3", "gpt_oss", "cohere2", "lfm2", "qwen3"}) {
    EXPECT_EQ(window_of(family_folder(family)), 0) << family;
  }
  EXPECT_EQ(window_of(family_folder("mamba")), 0);
  const TempFolder copies;
  for (const char* family : {"phi3-longrope", "mixtral"}) {
    copy_model(family_folder(family), copies.path() / family, "\"sliding_window\": null", "\"sliding_window\": 33");
    EXPECT_EQ(window_of(copies.path() / family), 33) << family;
  }
  copy_model(family_folder("gpt_oss"), copies.path() / "gpt_oss", "\"full_attention\"", "\"sliding_attention\"");
  EXPECT_EQ(window_of(copies.path() / "gpt_oss"), 8);
}

struct WindowCase {
  int64_t window;
  DType kv;
  Device device;
};

class GivenUpBlocksTest : public testing::TestWithParam<WindowCase> {
 protected:
  void SetUp() override {
    copy_model(family_folder("mistral"), copy_.path() / "mistral", "\"sliding_window\": 8",
               cat("\"sliding_window\": ", GetParam().window));
  }
  TestModel model(int64_t blocks) const {
    ModelOptions options;
    options.device = GetParam().device;
    return TestModel(copy_.path() / "mistral", options, GetParam().kv, blocks);
  }

  // The bytes of NaN in every dtype that has them; an i8 pool's scales.
  static void spoil(const KvCache& cache, int32_t block) {
    for (size_t i = 0; i < cache.layers(); ++i) {
      const KvBlocks& layer = cache.layer(i);
      for (const Tensor* part : {&layer.key, &layer.value, &layer.key_scale, &layer.value_scale}) {
        if (!part->defined()) continue;
        const auto size = static_cast<size_t>(bytes_of(part->dtype(), part->strides()[0]));
        std::memset(part->raw() + static_cast<size_t>(block) * size, 0xff, size);
      }
    }
  }

  TempFolder copy_;
};

TEST_P(GivenUpBlocksTest, ChangeNoBit) {
  const int64_t tokens = GetParam().device == Device::cpu() ? 213 : 117;  // the reference takes its time
  const TestModel whole = model(64);
  ASSERT_EQ(whole.model->facts().window, GetParam().window);
  // Chunks of up to 37 tokens; what two texts see at once fits, both of them whole would not.
  const int64_t blocks = 2 * ((GetParam().window + 37) / kKvBlockTokens + 2);
  ASSERT_LT(blocks, 2 * tokens / kKvBlockTokens);
  const TestModel tight = model(blocks);
  std::deque<int32_t> free;
  for (int32_t block = 0; block < blocks; ++block) {
    free.push_back(block);
    spoil(tight.cache, block);
  }
  std::vector<std::vector<int32_t>> texts = {some_tokens(static_cast<size_t>(tokens), 1),
                                             some_tokens(static_cast<size_t>(tokens), 2)};
  std::vector<Tensor> expected;
  for (int i = 0; i < 2; ++i) expected.push_back(TestSequence(whole, i, 2).run(whole, texts[static_cast<size_t>(i)]));
  std::vector<TestSequence> sequences(2, TestSequence(tight));
  for (TestSequence& sequence : sequences) sequence.blocks.clear();
  const int64_t chunks[] = {5, 1, 16, 37, 1, 1, 30};
  int64_t given_up = 0;
  for (int64_t step = 0; sequences[0].position < tokens || sequences[1].position < tokens; ++step) {
    const auto which = static_cast<size_t>(step % 2);
    TestSequence& sequence = sequences[which];
    const int64_t first = sequence.position, count = std::min(chunks[step % std::ssize(chunks)], tokens - first);
    if (count == 0) continue;
    const int64_t first_seen = std::max<int64_t>(0, first - GetParam().window + 1);
    for (int64_t b = 0; b < first_seen / kKvBlockTokens; ++b) {
      int32_t& block = sequence.blocks[static_cast<size_t>(b)];
      if (block == kNoBlock) continue;
      spoil(tight.cache, block);
      free.push_back(block);
      block = kNoBlock;
      ++given_up;
    }
    while (std::ssize(sequence.blocks) * kKvBlockTokens < first + count) {
      ASSERT_FALSE(free.empty());
      sequence.blocks.push_back(free.front());
      free.pop_front();
    }
    const Tensor logits = sequence.run(tight, std::span(texts[which]).subspan(first, count));
    expect_identical(logits, narrow(expected[which], 0, first, count).contiguous(),
                     cat("text ", which, " from ", first));
  }
  EXPECT_GT(given_up, 2 * (tokens - GetParam().window - 37) / kKvBlockTokens - 3);
}

INSTANTIATE_TEST_SUITE_P(
    All, GivenUpBlocksTest,
    testing::Values(WindowCase{8, DType::kF32, Device::cpu()}, WindowCase{1, DType::kF16, Device::cpu()},
                    WindowCase{16, DType::kI8, Device::cpu()}, WindowCase{17, DType::kBF16, Device::cpu()},
                    WindowCase{65, DType::kF16, Device::cpu()}, WindowCase{24, DType::kF32, Device::reference()}),
    [](const auto& test) { return cat(test.param.window, "_", test.param.kv, "_", to_string(test.param.device)); });

TEST(WindowTest, OnlyBlocksBeforeItCanBeMissing) {
  const TestModel model(family_folder("mistral"));  // a window of 8
  const std::vector<int32_t> text = some_tokens(60, 1);
  const auto message = [&](int64_t position, const std::vector<int32_t>& table, const SequenceHooks* hooks = nullptr) {
    TestSequence sequence(model);
    sequence.run(model, std::span(text).first(static_cast<size_t>(position)));
    sequence.blocks = table;
    sequence.hooks = hooks;
    try {
      sequence.run(model, std::span(text).subspan(static_cast<size_t>(position), 2));
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  const std::string missing = "forward: block -1 of sequence 0 is not in the cache";
  EXPECT_EQ(message(39, {-1, -1, 2}), "no error");  // sees positions from 32 on
  EXPECT_EQ(message(38, {-1, -1, 2}), missing);
  EXPECT_EQ(message(38, {-1, 1, 2}), "no error");
  EXPECT_EQ(message(38, {-1, 1, -1}), missing);
  EXPECT_EQ(message(39, {-2, -1, 2}), "forward: block -2 of sequence 0 is not in the cache");
  EXPECT_EQ(message(39, {64, -1, 2}), "forward: block 64 of sequence 0 is not in the cache");
  EXPECT_EQ(message(5, {-1}), missing);

  HookSpec residual, pattern, scores;
  residual.capture("blocks.0.hook_resid_pre");
  pattern.capture("blocks.1.attn.hook_pattern");
  scores.knockout(0, {{40, 39}});
  HookCache seen;
  const SequenceHooks harmless{&residual, &seen}, watching{&pattern, &seen}, changing{&scores, nullptr};
  EXPECT_EQ(message(39, {-1, -1, 2}, &harmless), "no error");
  EXPECT_EQ(message(39, {0, 1, 2}, &watching), "no error");
  for (const SequenceHooks* hooks : {&watching, &changing}) {
    EXPECT_EQ(message(39, {-1, -1, 2}, hooks),
              "forward: hooks look at the attention of sequence 0, whose first blocks were given up");
  }

  const TestModel without(family_folder("llama"));
  TestSequence sequence(without);
  sequence.run(without, std::span(text).first(40));
  sequence.blocks[0] = kNoBlock;
  EXPECT_ERROR(sequence.run(without, std::span(text).subspan(40, 1)), kInvalidArgument, missing);
}

}  // namespace
}  // namespace wick
