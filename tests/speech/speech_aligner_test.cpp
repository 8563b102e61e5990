// The forced aligner: its network against PyTorch, its words and the repair of its times.
#include <gtest/gtest.h>

#include <fstream>

#include "speech/align_words.h"
#include "speech/qwen3_asr/qwen3_asr.h"
#include "support/compare.h"
#include "support/speech_fixtures.h"
#include "support/temp_folder.h"
#include "support/tiny_models.h"

namespace wick {
namespace {

// An aligner is the network of a recogniser with another head. Of one whose 40 times are the first 40 tokens, PyTorch's
// logits are known.
TEST(ForcedAlignerNetwork, AgreesWithPyTorch) {
  constexpr int64_t kClasses = 40;
  const auto recogniser = family_folder("qwen3_asr");
  const SpeechReference reference(kSpeechFixtures[0], recogniser);
  const Checkpoint checkpoint = Checkpoint::open(recogniser);
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (const TensorEntry& entry : checkpoint.entries()) tensors.emplace_back(entry.name, checkpoint.get(entry));
  const Tensor tokens = checkpoint.get("model.language_model.embed_tokens.weight");
  tensors.emplace_back("score.weight", narrow(tokens, 0, 0, kClasses).contiguous());
  std::ifstream config(recogniser / "config.json");
  const TempFolder temp;
  write_checkpoint(temp.path(), std::string((std::istreambuf_iterator<char>(config)), {}), tensors);
  const auto model = Qwen3Asr::load(temp.path());
  ASSERT_TRUE(model->times());
  EXPECT_EQ(model->times()->classes, kClasses);
  EXPECT_EQ(model->times()->seconds, 0.08);
  EXPECT_EQ(model->times()->token, 181);

  ForwardBatch batch;
  batch.tokens = reference.prompt;
  const auto first = std::find(batch.tokens.begin(), batch.tokens.end(), model->audio_token());
  const InputEmbeddings heard{first - batch.tokens.begin(), model->encoder().encode(reference.mel)};
  const std::vector<int32_t> blocks = {0, 1, 2, 3, 4};
  batch.sequences.push_back({std::ssize(batch.tokens), 0, blocks, nullptr, nullptr, {&heard, 1}});
  for (int64_t row = 0; row < std::ssize(batch.tokens); ++row) batch.logit_rows.push_back(row);
  const KvCache cache(model->decoder().facts().kv_layers, std::ssize(blocks), DType::kF32, Device::cpu());
  const Tensor logits = reference.file.get("logits");
  const Tensor expected = narrow(logits.with_layout(logits.layout().squeeze(0)), 1, 0, kClasses);
  EXPECT_LE(relative_error(model->decoder().forward(batch, cache), expected), 2e-5);
}

TEST(ForcedAlignerNetwork, ModelsThatWriteHaveNoTimes) {
  EXPECT_FALSE(Qwen3Asr::load(kSpeechFixtures[0].folders().front())->times());
}

TEST(AlignWords, AreSpokenPartsOfTheText) {
  const auto words = [](std::string_view text) {
    std::vector<std::pair<std::string, std::string>> list;
    for (const AlignWord& word : split_for_alignment(text)) list.emplace_back(word.spoken, word.text);
    return list;
  };
  using Words = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(words("Well, it's 3.14 - \"fine\"!"),
            (Words{{"Well", "Well,"}, {"it's", "it's"}, {"314", "3.14"}, {"fine", "\"fine\"!"}}));
  EXPECT_EQ(words("我们go吧。"), (Words{{"我", "我"}, {"们", "们"}, {"go", "go"}, {"吧", "吧。"}}));
  EXPECT_EQ(words("Grüße\u00A0Ägypten"), (Words{{"Grüße", "Grüße"}, {"Ägypten", "Ägypten"}}));
  EXPECT_EQ(words(" \n--- "), Words());
  EXPECT_EQ(words(""), Words());
  EXPECT_EQ(words("a\xFF"), (Words{{"a", "a\uFFFD"}}));
}

TEST(AlignTimes, Rise) {
  using Times = std::vector<double>;
  EXPECT_EQ(rising_times({}), Times());
  EXPECT_EQ(rising_times({1, 2, 2, 3}), (Times{1, 2, 2, 3}));
  EXPECT_EQ(rising_times({0, 9, 1, 2}), (Times{0, 0, 1, 2}));  // nearer to its left, or as near
  EXPECT_EQ(rising_times({0, 9, 8, 1, 2, 3}), (Times{0, 0, 1, 1, 2, 3}));
  EXPECT_EQ(rising_times({0, 9, 8, 7, 4, 5, 6, 7}), (Times{0, 1, 2, 3, 4, 5, 6, 7}));  // spread evenly
  EXPECT_EQ(rising_times({9, 1, 2, 3}), (Times{1, 1, 2, 3}));
  EXPECT_EQ(rising_times({1, 2, 3, 0}), (Times{1, 2, 3, 3}));
  EXPECT_EQ(rising_times({9, 8, 7, 6}), (Times{9, 9, 9, 9}));
}

}  // namespace
}  // namespace wick
