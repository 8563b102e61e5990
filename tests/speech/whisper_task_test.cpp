// Greedy, drawn and beam search against plain ones that compute everything anew at each step.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "engine/engine.h"
#include "ops/softmax.h"
#include "speech/whisper/whisper_task.h"
#include "support/tiny_whisper.h"
#include "tensor/create.h"

namespace wick {
namespace {

class SearchTest : public testing::Test {
 protected:
  static constexpr int32_t kPrompt[] = {96, 40, 41, 42, kTinyStart, 90, 94};
  static constexpr size_t kStart = 4;

  void SetUp() override {
    const Tensor mel = randn({model_->config().bins, model_->config().frames()}, 9);
    encoded_ = model_->decoder().state_for(model_->encoder().encode(mel));
  }

  std::vector<float> logits(std::span<const int32_t> generated, size_t row) {
    ForwardBatch batch;
    batch.tokens.assign(std::begin(kPrompt), std::end(kPrompt));
    batch.tokens.insert(batch.tokens.end(), generated.begin(), generated.end());
    const std::vector<int32_t> blocks = {0, 1, 2, 3};
    batch.sequences.push_back({static_cast<int64_t>(batch.tokens.size()), 0, blocks, &encoded_});
    batch.logit_rows = {static_cast<int64_t>(row)};
    return model_->decoder().forward(batch, cache_).to_vector<float>();
  }
  std::vector<float> logprobs(std::span<const int32_t> generated) {
    std::vector<float> row = logits(generated, std::size(kPrompt) + generated.size() - 1);
    rules_.apply(row, generated, true);
    row = log_softmax(from_vector(row, {1, 200}), -1).to_vector<float>();
    rules_.prefer_times(row);
    return row;
  }

  // The original's search, with texts as keys.
  std::vector<int32_t> plain_beams(size_t count, size_t most, float* sum) {
    std::map<std::vector<int32_t>, float> beams = {{{}, 0.0f}};
    std::vector<std::pair<std::vector<int32_t>, float>> done;
    for (size_t step = 0; step < most && done.size() < count; ++step) {
      std::vector<std::pair<std::vector<int32_t>, float>> next;
      for (const auto& [text, score] : beams) {
        const std::vector<float> row = logprobs(text);
        for (int32_t token = 0; token < 200; ++token) {
          std::vector<int32_t> longer = text;
          longer.push_back(token);
          next.emplace_back(longer, score + row[static_cast<size_t>(token)]);
        }
      }
      std::stable_sort(next.begin(), next.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
      beams.clear();
      for (const auto& [text, score] : next) {
        if (beams.size() == count || std::isinf(score)) break;
        if (text.back() != kTinyEnd) {
          beams[text] = score;
        } else if (done.size() < count) {
          done.emplace_back(text, score);
        }
      }
    }
    std::vector<std::pair<std::vector<int32_t>, float>> rest(beams.begin(), beams.end());
    std::stable_sort(rest.begin(), rest.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
    for (size_t i = 0; i < rest.size() && done.size() < count; ++i) done.push_back(rest[i]);
    const auto per_token = [](const auto& text) {
      const auto length = text.first.size() - (text.first.back() == kTinyEnd ? 1 : 0);
      return text.second / static_cast<float>(std::max<size_t>(length, 1));
    };
    auto best = *std::max_element(done.begin(), done.end(),
                                  [&](const auto& a, const auto& b) { return per_token(a) < per_token(b); });
    if (best.first.back() == kTinyEnd) best.first.pop_back();
    *sum = best.second;
    return best.first;
  }

  static EngineOptions options(int64_t batch_tokens = 512) {
    EngineOptions options;
    options.kv_bytes = 16 << 20;
    options.prefix_cache = false;
    options.max_batch_tokens = batch_tokens;
    return options;
  }
  std::shared_ptr<WhisperTask> task(const WhisperSearchOptions& how, WhisperText* made) {
    const auto take = [made](const WhisperText& text, float) {
      *made = text;
      return std::nullopt;
    };
    const std::vector<int32_t> prompt(std::begin(kPrompt), std::end(kPrompt));
    return std::make_shared<WhisperTask>(*model_, rules_, encoded_, WhisperPrompt{prompt, kStart}, how, take);
  }
  WhisperText write(const WhisperSearchOptions& how) {
    Engine engine(model_->decoder(), options(), 64);
    WhisperText made;
    const auto task = this->task(how, &made);
    engine.submit(task);
    engine.run_until([&] { return task->is_over(); });
    task->check();
    return made;
  }

  std::unique_ptr<Whisper> model_ = Whisper::load(family_folder("whisper"));
  WhisperRules rules_{tiny_whisper_tokens(), tiny_whisper_tokenizer(), 200, Json()};
  KvCache cache_{model_->decoder().facts().kv_layers, 4, DType::kF16, Device::cpu()};
  RecurrentState encoded_;
};

constexpr size_t kMostWritten = 32;  // half of what the fixture can write

TEST_F(SearchTest, TheLikeliestTokenEachTime) {
  const WhisperText made = write({});
  std::vector<int32_t> expected;
  float sum = 0;
  while (expected.size() < kMostWritten) {
    const std::vector<float> row = logprobs(expected);
    const auto token = static_cast<int32_t>(std::max_element(row.begin(), row.end()) - row.begin());
    sum += row[static_cast<size_t>(token)];
    if (token == kTinyEnd) break;
    EXPECT_EQ(made.logprobs.at(expected.size()), row[static_cast<size_t>(token)]);
    expected.push_back(token);
  }
  EXPECT_EQ(made.tokens, expected);
  EXPECT_NEAR(made.sum_logprob, sum, 1e-3);
}

TEST_F(SearchTest, FollowsBeams) {
  for (const int64_t count : {2, 3, 5}) {
    SCOPED_TRACE(count);
    WhisperSearchOptions options;
    options.beams = count;
    float sum = 0;
    const std::vector<int32_t> expected = plain_beams(static_cast<size_t>(count), kMostWritten, &sum);
    const WhisperText made = write(options);
    EXPECT_EQ(made.tokens, expected);
    EXPECT_NEAR(made.sum_logprob, sum, 1e-3);
  }
}

TEST_F(SearchTest, DrawsTheSameAgain) {
  WhisperSearchOptions options;
  options.temperature = 0.8f;
  options.seed = 3;
  const WhisperText made = write(options);
  EXPECT_EQ(write(options).tokens, made.tokens);
  const ThreadCount one(1);
  EXPECT_EQ(write(options).tokens, made.tokens);
  options.seed = 4;
  EXPECT_NE(write(options).tokens, made.tokens);
  options.seed = 3;
  options.stream = 1;
  EXPECT_NE(write(options).tokens, made.tokens);
}

// Each of them by itself, then together: the best one is chosen.
TEST_F(SearchTest, TakesTheBestOfTheTextsDrawn) {
  WhisperSearchOptions options;
  options.temperature = 1;
  options.draws = 5;
  const WhisperText best = write(options);
  const auto score = [](const WhisperText& text) {
    return text.sum_logprob / static_cast<float>(std::max<size_t>(text.tokens.size(), 1));
  };
  options.draws = 1;
  float expected = -INFINITY;
  for (uint64_t stream = 0; stream < 5; ++stream) {
    options.stream = stream;
    expected = std::max(expected, score(write(options)));
  }
  EXPECT_EQ(score(best), expected);
}

// Many windows in one engine, at once and one after the other, in little memory and in small passes.
TEST_F(SearchTest, WindowsShareAnEngine) {
  std::vector<WhisperSearchOptions> all;
  for (const int64_t beams : {1, 2, 4}) all.push_back({.beams = beams});
  for (const uint64_t seed : {1, 2, 3}) all.push_back({.temperature = 0.9f, .seed = seed});
  std::vector<WhisperText> alone;
  for (const WhisperSearchOptions& how : all) alone.push_back(write(how));
  const int64_t block = KvCache::bytes_per_block(model_->decoder().facts().kv_layers, DType::kF16);
  for (const int64_t blocks : {4, 7, 200}) {
    for (const int64_t swap : {int64_t{0}, int64_t{1} << 20}) {
      EngineOptions few = options(16);
      few.kv_bytes = blocks * block;
      few.swap_bytes = swap;
      Engine engine(model_->decoder(), few, 64);
      for (int round = 0; round < 2; ++round) {
        std::vector<WhisperText> made(all.size());
        std::vector<std::shared_ptr<WhisperTask>> tasks;
        for (size_t i = 0; i < all.size(); ++i) tasks.push_back(task(all[i], &made[i]));
        for (const auto& each : tasks) ASSERT_TRUE(engine.submit(each));
        for (int steps = 0; engine.step(); ++steps) ASSERT_LT(steps, 20000) << "the engine goes round in circles";
        for (size_t i = 0; i < all.size(); ++i) {
          tasks[i]->check();
          EXPECT_EQ(made[i].tokens, alone[i].tokens) << i << " in " << blocks << " blocks";
          EXPECT_EQ(made[i].logprobs, alone[i].logprobs) << i;
          EXPECT_EQ(tasks[i]->no_speech(), tasks[0]->no_speech());
        }
      }
      const EngineSnapshot snapshot = engine.snapshot();
      EXPECT_EQ(snapshot.blocks_free, snapshot.blocks_total);
      EXPECT_EQ(snapshot.counters.preemptions > 0, blocks < 200);
      if (blocks == 200) {
        EXPECT_LT(snapshot.counters.steps, 2 * 40) << "they take part in the same passes";
      }
    }
  }
}

// A judge that is not content gets another text of the same window, as if it had been asked for at once.
TEST_F(SearchTest, WritesAgainAsItIsTold) {
  const WhisperSearchOptions first{.beams = 3}, second{.temperature = 0.6f, .seed = 5, .stream = 7};
  std::vector<WhisperText> texts;
  std::vector<float> no_speech;
  const auto judge = [&](const WhisperText& text, float silence) -> std::optional<WhisperSearchOptions> {
    texts.push_back(text);
    no_speech.push_back(silence);
    if (texts.size() == 2) return std::nullopt;
    return second;
  };
  const std::vector<int32_t> prompt(std::begin(kPrompt), std::end(kPrompt));
  const auto task =
      std::make_shared<WhisperTask>(*model_, rules_, encoded_, WhisperPrompt{prompt, kStart}, first, judge);
  Engine engine(model_->decoder(), options(), 64);
  engine.submit(task);
  engine.run_until([&] { return task->is_over(); });
  ASSERT_EQ(texts.size(), 2u);
  EXPECT_EQ(texts[0].tokens, write(first).tokens);
  EXPECT_EQ(texts[1].tokens, write(second).tokens);
  const std::vector<float> row = logits({}, kStart);
  const std::vector<float> expected = log_softmax(from_vector(row, {1, 200}), -1).to_vector<float>();
  EXPECT_FLOAT_EQ(no_speech[0], std::exp(expected[97]));
  EXPECT_EQ(no_speech[1], no_speech[0]);
}

TEST_F(SearchTest, AnEngineThatEndsIsAnError) {
  WhisperText made;
  const auto task = this->task({}, &made);
  {
    Engine engine(model_->decoder(), options(), 64);
    engine.submit(task);
    engine.step();
  }
  EXPECT_TRUE(task->is_over());
  EXPECT_THROW(task->check(), Error);
}

TEST_F(SearchTest, TheLikeliestLanguage) {
  ForwardBatch batch;
  batch.tokens = {kTinyStart};
  const std::vector<int32_t> blocks = {0};
  batch.sequences.push_back({1, 0, blocks, &encoded_});
  batch.logit_rows = {0};
  const std::vector<float> row = model_->decoder().forward(batch, cache_).to_vector<float>();
  Engine engine(model_->decoder(), options(), 64);
  const auto task = std::make_shared<WhisperLanguageTask>(rules_, encoded_);
  engine.submit(task);
  engine.run_until([&] { return task->is_over(); });
  EXPECT_EQ(static_cast<long>(task->found()), std::max_element(&row[90], &row[93]) - &row[90]);
}

}  // namespace
}  // namespace wick
