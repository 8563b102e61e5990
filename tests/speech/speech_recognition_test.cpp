// Qwen3-ASR from spectrogram to tokens against what PyTorch computes, and audio rows that are cut and batched.
#include <gtest/gtest.h>

#include <array>
#include <random>

#include "speech/qwen3_asr/qwen3_asr.h"
#include "speech/transcript.h"
#include "support/compare.h"
#include "support/errors.h"
#include "support/speech_fixtures.h"

namespace wick {
namespace {

// One text with sound in it, in blocks of its own.
struct Listener {
  Listener(const Qwen3Asr& of, std::span<const int32_t> prompt, const Tensor& audio, int32_t first_block = 0,
           int32_t stride = 1, int64_t most_blocks = 128)
      : tokens(prompt.begin(), prompt.end()) {
    for (int32_t block = first_block; block < most_blocks; block += stride) blocks.push_back(block);
    const auto first = std::find(tokens.begin(), tokens.end(), of.audio_token());
    heard.push_back({first - tokens.begin(), audio});
  }

  // Adds the next `count` tokens to the batch with all their logits.
  void add_to(ForwardBatch& batch, int64_t count) {
    const auto begin = static_cast<int64_t>(batch.tokens.size());
    const auto from = tokens.begin() + position;
    batch.tokens.insert(batch.tokens.end(), from, from + count);
    batch.sequences.push_back({count, position, blocks, nullptr, hooks, heard});
    for (int64_t i = 0; i < count; ++i) batch.logit_rows.push_back(begin + i);
    position += count;
  }
  int64_t left() const { return static_cast<int64_t>(tokens.size()) - position; }

  std::vector<int32_t> tokens, blocks;
  std::vector<InputEmbeddings> heard;
  const SequenceHooks* hooks = nullptr;
  int64_t position = 0;
};

KvCache cache_for(const Qwen3Asr& model, DType dtype = DType::kF32, int64_t blocks = 128) {
  return {model.decoder().facts().kv_layers, blocks, dtype, Device::cpu()};
}

Tensor logits_of_all(const Qwen3Asr& model, Listener listener, const KvCache& cache) {
  ForwardBatch batch;
  listener.add_to(batch, listener.left());
  return model.decoder().forward(batch, cache);
}

int32_t best_of_last(const Tensor& logits) {
  const std::vector<float> values = narrow(logits, 0, logits.dim(0) - 1, 1).to_vector<float>();
  return static_cast<int32_t>(std::max_element(values.begin(), values.end()) - values.begin());
}

class RecognitionTest : public testing::TestWithParam<SpeechFixture> {
 protected:
  void SetUp() override {
    if (GetParam().folders().empty()) GTEST_SKIP() << GetParam().name << " is not here";
  }
};

std::vector<int32_t> write_down(const Qwen3Asr& model, Listener listener, size_t count) {
  const KvCache cache = cache_for(model);
  std::vector<int32_t> generated;
  while (generated.size() < count) {
    ForwardBatch batch;
    listener.add_to(batch, listener.left());
    generated.push_back(best_of_last(model.decoder().forward(batch, cache)));
    listener.tokens.push_back(generated.back());
  }
  return generated;
}

TEST_P(RecognitionTest, WritesTheSameTokens) {
  for (const auto& folder : GetParam().folders()) {
    SCOPED_TRACE(folder.string());
    const SpeechReference reference(GetParam(), folder);
    const auto model = Qwen3Asr::load(folder);
    const Listener listener(*model, reference.prompt, model->encoder().encode(reference.mel));
    if (reference.file.find("logits")) {
      const Tensor expected = reference.file.get("logits"), logits = logits_of_all(*model, listener, cache_for(*model));
      EXPECT_LE(relative_error(logits, expected.with_layout(expected.layout().squeeze(0))), 2e-5);
    }
    EXPECT_EQ(write_down(*model, listener, reference.generated.size()), reference.generated);
  }
}

INSTANTIATE_TEST_SUITE_P(All, RecognitionTest, testing::ValuesIn(kSpeechFixtures), speech_fixture_name);

// Eight bits are enough for the same text.
TEST(EmberAsrTest, WritesTheSameTextWithEightBits) {
  const SpeechFixture& ember = kSpeechFixtures[2];
  if (ember.folders().empty()) GTEST_SKIP() << ember.name << " is not here";
  for (const auto& folder : ember.folders()) {
    const SpeechReference reference(ember, folder);
    ModelOptions options;
    options.quantize = "q8_0";
    const auto model = Qwen3Asr::load(folder, options);
    const Listener listener(*model, reference.prompt, model->encoder().encode(reference.mel));
    const Tokenizer tokenizer = Tokenizer::load(folder);
    const auto text = [&](const std::vector<int32_t>& tokens) {
      return read_transcript(tokenizer.decode(std::span(tokens).first(tokens.size() - 1))).text;
    };
    EXPECT_EQ(text(write_down(*model, listener, reference.generated.size())), text(reference.generated));
    EXPECT_GT(text(reference.generated).size(), 10u);
  }
}

TEST(AudioRowsTest, MayBeCutAnywhereAndBatched) {
  const auto model = Qwen3Asr::load(family_folder("qwen3_asr"));
  const SpeechReference reference(kSpeechFixtures[0], family_folder("qwen3_asr"));
  const KvCache cache = cache_for(*model, DType::kF16);
  constexpr int kListeners = 3;
  const auto listener = [&](int i) {
    const int64_t frames = 100 + 150 * i;
    const Tensor audio = model->encoder().encode(narrow(reference.mel, 1, 0, frames));
    std::vector<int32_t> prompt = some_tokens(static_cast<size_t>(5 + i), static_cast<uint32_t>(i), 170);
    prompt.insert(prompt.end(), static_cast<size_t>(audio.dim(0)), model->audio_token());
    const std::vector<int32_t> after = some_tokens(7, static_cast<uint32_t>(10 + i), 170);
    prompt.insert(prompt.end(), after.begin(), after.end());
    return Listener(*model, prompt, audio, i, kListeners);
  };
  std::vector<Tensor> whole;
  for (int i = 0; i < kListeners; ++i) whole.push_back(logits_of_all(*model, listener(i), cache));
  std::mt19937 random(3);
  for (int round = 0; round < 5; ++round) {
    const ThreadCount threads(1 + round % 2);
    const auto most = static_cast<uint32_t>(round == 0 ? 1 : 7 * round);  // one by one at first
    std::vector<Listener> listeners;
    for (int i = 0; i < kListeners; ++i) listeners.push_back(listener(i));
    for (bool more = true; more;) {
      ForwardBatch batch;
      std::vector<std::array<int64_t, 3>> parts;  // listener, first token, count
      for (int i = 0; i < kListeners; ++i) {
        const int64_t count = std::min<int64_t>(listeners[i].left(), random() % (most + 1));
        if (count == 0) continue;
        parts.push_back({i, listeners[i].position, count});
        listeners[i].add_to(batch, count);
      }
      more = std::any_of(listeners.begin(), listeners.end(), [](const Listener& l) { return l.left() > 0; });
      if (parts.empty()) continue;
      const Tensor logits = model->decoder().forward(batch, cache);
      int64_t row = 0;
      for (const auto& [i, first, count] : parts) {
        expect_identical(narrow(logits, 0, row, count).contiguous(), narrow(whole[i], 0, first, count).contiguous(),
                         cat("listener ", i, " from token ", first));
        row += count;
      }
    }
  }
}

TEST(AudioRowsTest, ReplaceTheTokensThatStandThere) {
  const auto model = Qwen3Asr::load(family_folder("qwen3_asr"));
  const SpeechReference reference(kSpeechFixtures[0], family_folder("qwen3_asr"));
  const KvCache cache = cache_for(*model);
  const Tensor audio = model->encoder().encode(reference.mel);
  Listener listener(*model, reference.prompt, audio);
  const Tensor expected = logits_of_all(*model, listener, cache);

  Listener other_places = listener;
  std::replace(other_places.tokens.begin(), other_places.tokens.end(), model->audio_token(), 7);
  expect_identical(logits_of_all(*model, other_places, cache), expected, "with other tokens in the places");

  Listener in_pieces = listener;
  const int64_t at = listener.heard[0].position, rows = audio.dim(0);
  in_pieces.heard = {{at, narrow(audio, 0, 0, 9)},
                     {at + 9, narrow(audio, 0, 9, 0)},
                     {at + 9, narrow(audio, 0, 9, rows - 9)},
                     {at + 5000, audio}};
  expect_identical(logits_of_all(*model, in_pieces, cache), expected, "in pieces, with one further on");

  Listener deaf = listener;
  deaf.heard.clear();
  EXPECT_GT(relative_error(logits_of_all(*model, deaf, cache), expected), 0.01);

  HookSpec spec;
  spec.capture("hook_embed");
  HookCache seen;
  const SequenceHooks hooks{&spec, &seen};
  listener.hooks = &hooks;
  logits_of_all(*model, listener, cache);
  expect_identical(narrow(seen.at("hook_embed"), 0, at, rows).contiguous(), audio, "what hooks see");
}

TEST(AudioRowsTest, AreChecked) {
  const auto model = Qwen3Asr::load(family_folder("qwen3_asr"));
  const KvCache cache = cache_for(*model);
  const std::vector<int32_t> prompt(20, model->audio_token());
  const auto message = [&](std::vector<InputEmbeddings> heard) -> std::string {
    Listener listener(*model, prompt, {});
    listener.heard = std::move(heard);
    try {
      logits_of_all(*model, listener, cache);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(message({{0, zeros({3, 63})}}),
            "forward: embeddings of sequence 0 are f32 [3, 63], expected f32 [rows, 64]");
  EXPECT_EQ(message({{0, zeros({64})}}), "forward: embeddings of sequence 0 are f32 [64], expected f32 [rows, 64]");
  EXPECT_EQ(message({{0, zeros({3, 64}, DType::kF16)}}),
            "forward: embeddings of sequence 0 are f16 [3, 64], expected f32 [rows, 64]");
  EXPECT_EQ(message({{0, {}}}), "forward: embeddings of sequence 0 are undefined, expected f32 [rows, 64]");
  EXPECT_EQ(message({{-1, zeros({3, 64})}}),
            "forward: embeddings of sequence 0 begin at position -1, expected at least 0");
  EXPECT_EQ(message({{0, zeros({3, 64})}, {2, zeros({3, 64})}}),
            "forward: embeddings of sequence 0 begin at position 2, expected at least 3");
  EXPECT_EQ(message({{INT64_MAX - 1, zeros({3, 64})}}),
            "forward: embeddings of sequence 0 begin at position 9223372036854775806");
  EXPECT_EQ(message({{0, zeros({3, 64}, DType::kF32, Device::reference())}}),
            "forward: embeddings of sequence 0 are on reference, the model is on cpu");
  EXPECT_EQ(message({{18, zeros({3, 64})}}), "no error");  // the rest of it may come in the next pass
}

TEST(AudioRowsTest, AreRefusedByModelsWithoutAPlaceForThem) {
  WICK_NEEDS_FIXTURE("gemma3n");  // whose layers have embeddings of tokens for themselves
  const TestModel model(family_folder("gemma3n"));
  TestSequence sequence(model);
  ForwardBatch batch;
  sequence.add_to(batch, some_tokens(4, 1), true);
  const InputEmbeddings heard{0, zeros({2, model.model->facts().hidden})};
  batch.sequences[0].embeddings = {&heard, 1};
  EXPECT_ERROR(model.model->forward(batch, model.cache), kInvalidArgument,
               "sequence 0 brings embeddings, which this gemma3n");
}

}  // namespace
}  // namespace wick
