// Things that are no texts, in one engine with texts: the frames of a voice, each of several codes that a second model
// makes inside the step, and pictures that need no keys and values.
#include <gtest/gtest.h>

#include <random>

#include "ops/ops.h"
#include "support/engine_requests.h"
#include "support/tiny_text_models.h"
#include "tensor/create.h"

namespace wick {
namespace {

constexpr int64_t kContext = 96;

int32_t likeliest(std::span<const float> logits) {
  return static_cast<int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

// What both toys have in common: events that are emitted behind the pass, and an end.
template <typename Base>
class ToyTask : public Base {
 public:
  explicit ToyTask(Priority priority) : priority_(priority) {}

  Priority priority() const override { return priority_; }
  bool is_over() const override { return reason_ || error_; }
  void end(StopReason reason) override { reason_ = reason; }
  void fail(const Error& error) override { error_ = error; }
  void notify() override {
    heard.insert(heard.end(), news_.begin(), news_.end());
    news_.clear();
  }

  std::vector<int32_t> heard;  // what was emitted
  std::optional<StopReason> reason_;
  std::optional<Error> error_;

 protected:
  std::vector<int32_t> news_;

 private:
  Priority priority_;
};

constexpr int64_t kCodes = 4;  // of a frame

// The talker's first code of a frame is the likeliest token; the others come from the predictor. What the frame sounds
// like goes back into the talker as a row of embeddings.
class VoiceTask final : public ToyTask<LanguageTask> {
 public:
  VoiceTask(std::vector<int32_t> prompt, int64_t frames, Tensor sounds, Priority priority, Runner& runner)
      : ToyTask(priority), prompt_(std::move(prompt)), frames_(frames), sounds_(std::move(sounds)), runner_(runner) {}

  Runner* runner() const override { return &runner_; }
  bool shares_prefix() const override { return true; }
  void begin(TaskHost& host) override {
    auto sequence = std::make_unique<Sequence>();
    sequence->tokens = prompt_;
    sequence->prompt_tokens = std::ssize(prompt_);
    host.add(std::move(sequence));
  }
  void settle(TaskHost&) override {}
  RowsWanted prepare(const Planned& planned) override { return {0, planned.reaches_end() ? 1 : 0}; }
  int64_t take(const Planned&, const PartLogits& rows, TaskHost&) override {
    first_code = rows.count.chosen > 0 ? likeliest(rows.chosen(0).logits) : -1;
    return 0;
  }
  std::span<const InputEmbeddings> embeddings(const Sequence&) const override { return embeddings_; }

  void take_frame(Sequence& sequence, std::span<const int32_t> codes, TaskHost& host) {
    Tensor sound = zeros({1, sounds_.dim(1)});
    int32_t name = 0;
    for (const int32_t code : codes) {
      sound = add(sound, narrow(sounds_, 0, code % 16, 1));
      name = name * 16 + code % 16;
    }
    const ArenaPause keep;
    embeddings_.push_back({std::ssize(sequence.tokens), sound.clone()});
    sequence.tokens.push_back(-1 - name);  // what it sounds like depends on these alone
    news_.insert(news_.end(), codes.begin(), codes.end());
    host.yielded(sequence);
    if (std::ssize(embeddings_) == frames_) end(StopReason::kLength);
  }

  int32_t first_code = -1;  // of the frame that this pass begins

 private:
  std::vector<int32_t> prompt_;
  int64_t frames_;
  Tensor sounds_;
  Runner& runner_;
  std::vector<InputEmbeddings> embeddings_;
};

// A pass of the talker, then the predictor's for all frames that were begun.
class VoiceRunner final : public Runner {
 public:
  explicit VoiceRunner(const LanguageModel& predictor) : predictor_(predictor) {}
  void use(const LanguageModel& talker, const KvCache& cache) { talker_.emplace(talker, cache); }

  std::unique_ptr<Pass> start(const StepPlan& plan) override {
    most_together = std::max(most_together, plan.size());
    return std::make_unique<VoicePass>(plan, talker_->start(plan), predictor_);
  }

  size_t most_together = 0;

 private:
  class VoicePass final : public Pass {
   public:
    VoicePass(StepPlan plan, std::unique_ptr<Pass> talker, const LanguageModel& predictor)
        : Pass(std::move(plan)), talker_(std::move(talker)), predictor_(predictor) {}
    void fetch() override { talker_->fetch(); }
    int64_t take(size_t i, TaskHost& host) override {
      if (i == 0) predict(host);
      if (!frames_[i].empty()) task_of(i).take_frame(*plan_[i].sequence, frames_[i], host);
      return 0;
    }

   private:
    VoiceTask& task_of(size_t i) const { return static_cast<VoiceTask&>(*plan_[i].sequence->task); }
    void predict(TaskHost& host) {
      frames_.resize(plan_.size());
      std::vector<size_t> begun;
      for (size_t i = 0; i < plan_.size(); ++i) {
        talker_->take(i, host);
        if (task_of(i).first_code < 0) continue;
        frames_[i] = {task_of(i).first_code};
        begun.push_back(i);
      }
      const KvCache cache(predictor_.facts().kv_layers, std::ssize(begun), DType::kF32, Device::cpu());
      std::vector<int32_t> blocks(begun.size());
      for (size_t i = 0; i < begun.size(); ++i) blocks[i] = static_cast<int32_t>(i);
      for (int64_t code = 1; code < kCodes && !begun.empty(); ++code) {
        ForwardBatch batch;
        for (size_t i = 0; i < begun.size(); ++i) {
          batch.tokens.push_back(frames_[begun[i]].back());
          batch.sequences.push_back({1, code - 1, std::span(blocks).subspan(i, 1)});
          batch.logit_rows.push_back(static_cast<int64_t>(i));
        }
        const Tensor logits = predictor_.forward(batch, cache);
        for (size_t i = 0; i < begun.size(); ++i) {
          const auto width = static_cast<size_t>(logits.dim(1));
          frames_[begun[i]].push_back(likeliest({logits.data<float>() + i * width, width}));
        }
      }
    }

    std::unique_ptr<Pass> talker_;
    const LanguageModel& predictor_;
    std::vector<std::vector<int32_t>> frames_;  // per planned sequence; empty: still reading
  };

  const LanguageModel& predictor_;
  std::optional<LanguageRunner> talker_;
};

// A row of numbers that goes through the same layer some times.
class PictureTask final : public ToyTask<Task> {
 public:
  PictureTask(uint64_t seed, int64_t steps, int64_t cost, Priority priority, Runner& runner)
      : ToyTask(priority), picture(randn({1, 32}, seed)), left_(steps), cost_(cost), runner_(runner) {}

  Runner* runner() const override { return &runner_; }
  void begin(TaskHost& host) override {
    auto sequence = std::make_unique<Sequence>();
    sequence->step_cost = cost_;
    host.add(std::move(sequence));
  }
  void settle(TaskHost&) override {}
  void take_step(Sequence& sequence, const Tensor& row, TaskHost& host) {
    const ArenaPause keep;
    picture = row.clone();
    news_.push_back(static_cast<int32_t>(1000 * picture.to_vector<float>()[0]));
    host.yielded(sequence);
    if (--left_ == 0) end(StopReason::kLength);
  }

  Tensor picture;

 private:
  int64_t left_, cost_;
  Runner& runner_;
};

class PictureRunner final : public Runner {
 public:
  std::unique_ptr<Pass> start(const StepPlan& plan) override {
    std::vector<Tensor> rows;
    for (const Planned& planned : plan) rows.push_back(static_cast<PictureTask&>(*planned.sequence->task).picture);
    return std::make_unique<PicturePass>(plan, tanh(matmul(concat(rows, 0), layer_)));
  }

 private:
  class PicturePass final : public Pass {
   public:
    PicturePass(StepPlan plan, Tensor rows) : Pass(std::move(plan)), rows_(std::move(rows)) {}
    int64_t take(size_t i, TaskHost& host) override {
      Sequence& sequence = *plan_[i].sequence;
      static_cast<PictureTask&>(*sequence.task).take_step(sequence, narrow(rows_, 0, static_cast<int64_t>(i), 1), host);
      return 0;
    }

   private:
    Tensor rows_;
  };
  Tensor layer_ = randn({32, 32}, 99);
};

class TaskMixTest : public testing::Test {
 protected:
  int below(int limit) { return static_cast<int>(random_() % static_cast<uint32_t>(limit)); }

  // Something that somebody wants: the same for the same number.
  struct Wish {
    int kind = 0;  // text, voice, picture
    uint32_t seed = 0;
    Priority priority = Priority::kNormal;
  };
  struct Going {
    Wish wish;
    RequestId id = 0;
    Heard text;
    std::shared_ptr<VoiceTask> voice;
    std::shared_ptr<PictureTask> picture;
    bool is_cancelled = false;

    bool is_over() const { return voice ? voice->is_over() : picture ? picture->is_over() : text.is_over(); }
    std::vector<int32_t> result() { return voice ? voice->heard : picture ? picture->heard : text.results[0].tokens; }
  };

  void submit(TextEngine& engine, Going& going) {
    const Wish& wish = going.wish;
    const std::vector<int32_t> prompt = some_tokens(8 + wish.seed % 29, wish.seed % 5);
    if (wish.kind == 0) {
      EngineRequest request;
      request.prompt = prompt;
      request.params.sampling.seed = wish.seed;
      request.params.max_new_tokens = 1 + wish.seed % 30;
      request.params.ignore_end = true;
      request.priority = wish.priority;
      going.id = *engine.submit(std::move(request), listen(going.text));
    } else if (wish.kind == 1) {
      going.voice = std::make_shared<VoiceTask>(prompt, 2 + wish.seed % 20, sounds_, wish.priority, voices_);
      going.id = *engine.submit(going.voice);
    } else {
      going.picture =
          std::make_shared<PictureTask>(wish.seed, 1 + wish.seed % 9, 20 + wish.seed % 90, wish.priority, pictures_);
      going.id = *engine.submit(going.picture);
    }
  }
  std::unique_ptr<TextEngine> engine(int64_t blocks, int64_t swap_bytes) {
    EngineOptions options{.context = kContext, .kv_dtype = DType::kF16, .swap_bytes = swap_bytes, .max_running = 8};
    options.kv_bytes = blocks * KvCache::bytes_per_block(talker_->model().facts().kv_layers, DType::kF16);
    options.max_waiting = 1 << 20;
    options.max_batch_tokens = 40;
    auto engine = std::make_unique<TextEngine>(talker_, options);
    voices_.use(talker_->model(), engine->cache());
    return engine;
  }
  std::vector<int32_t> alone(const Wish& wish) {
    const auto key = std::pair(wish.kind, wish.seed);
    if (!known_.contains(key)) {
      Going going{wish};
      const auto engine = this->engine(100, 0);
      submit(*engine, going);
      run_to_end(*engine);
      known_[key] = going.result();
    }
    return known_[key];
  }

  std::mt19937 random_{5};
  std::shared_ptr<const TextModel> talker_ = tiny_text_model("qwen3"), predictor_ = tiny_text_model("llama");
  Tensor sounds_ = randn({16, talker_->model().facts().hidden}, 3);
  VoiceRunner voices_{predictor_->model()};
  PictureRunner pictures_;
  std::map<std::pair<int, uint32_t>, std::vector<int32_t>> known_;
};

TEST_F(TaskMixTest, EachComesOutAsAlone) {
  for (const int64_t swap_bytes : {0, 1 << 20}) {
    std::vector<Wish> wishes;
    for (int i = 0; i < 250; ++i) {
      wishes.push_back({below(3), static_cast<uint32_t>(below(60)), static_cast<Priority>(below(kPriorities))});
    }
    for (const Wish& wish : wishes) alone(wish);
    voices_.most_together = 0;
    const auto engine = this->engine(kContext / kKvBlockTokens + 7, swap_bytes);
    std::vector<std::unique_ptr<Going>> all;
    for (const Wish& wish : wishes) {
      all.push_back(std::make_unique<Going>(Going{wish}));
      submit(*engine, *all.back());
      for (int steps = below(5); steps > 0; --steps) engine->step();
      Going& one = *all[all.size() - 1 - static_cast<size_t>(below(std::min(10, static_cast<int>(all.size()))))];
      if (below(8) == 0 && !one.is_over()) {
        engine->cancel(one.id);
        one.is_cancelled = true;
      }
    }
    int64_t steps = 0;
    while (engine->step()) ASSERT_LT(++steps, 50000) << "the engine goes round in circles";
    for (size_t i = 0; i < all.size(); ++i) {
      Going& one = *all[i];
      ASSERT_TRUE(one.is_over()) << i;
      const std::vector<int32_t> right = alone(one.wish), got = one.result();
      if (one.is_cancelled) {
        ASSERT_LE(got.size(), right.size());
        EXPECT_TRUE(std::equal(got.begin(), got.end(), right.begin())) << i;
      } else {
        EXPECT_EQ(got, right) << i << ", kind " << one.wish.kind;
      }
    }
    const EngineSnapshot snapshot = engine->snapshot();
    EXPECT_EQ(snapshot.blocks_free + snapshot.blocks_cached, snapshot.blocks_total);
    EXPECT_GT(snapshot.counters.preemptions, 0);
    EXPECT_GT(snapshot.counters.reused_tokens, 0);
    EXPECT_GT(voices_.most_together, 1u) << "frames share passes";
  }
}

// A picture costs more than a pass may have: texts go on meanwhile, and the picture, too.
TEST_F(TaskMixTest, LongStepsTakeTurnsWithTexts) {
  const auto engine = this->engine(100, 0);
  Going text{{0, 29}};
  submit(*engine, text);
  engine->step();
  Going picture;
  picture.picture = std::make_shared<PictureTask>(1, 3, 200, Priority::kNormal, pictures_);
  engine->submit(picture.picture);
  std::vector<size_t> tokens_at_step;
  for (size_t emitted = 0; engine->step();) {
    if (picture.picture->heard.size() == emitted) continue;
    emitted = picture.picture->heard.size();
    tokens_at_step.push_back(text.text.tokens[0].size());
  }
  ASSERT_EQ(tokens_at_step.size(), 3u);
  EXPECT_EQ(text.text.tokens[0].size(), 30u);
  EXPECT_GT(tokens_at_step[1], tokens_at_step[0] + 1) << "tokens come between its steps";
  EXPECT_LT(tokens_at_step[2], 30u) << "it does not wait until the text is over";
}

}  // namespace
}  // namespace wick
