#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "engine/runner.h"
#include "engine/sampling/sampler.h"
#include "engine/task.h"
#include "nn/kv_cache.h"
#include "speech/qwen3_tts/tts_prompt.h"

namespace wick {

// How codes are drawn, as the makers ship it.
struct TtsSampling {
  float temperature = 0.9f, top_p = 1, repetition_penalty = 1.05f;
  int64_t top_k = 50;
  float group_temperature = 0.9f, group_top_p = 1;  // of the predictor
  int64_t group_top_k = 50;
  int64_t max_frames = 8191;
  uint64_t seed = 0;
};

// What a task tells: frames of codes as they come, then how it ended, once.
struct TtsListener {
  std::function<void(std::span<const int32_t> codes)> frames;
  std::function<void(StopReason reason, const Error* error)> over;
};

class TtsRunner;

// One text, spoken: a frame of codes at each step.
class TtsTask final : public Task {
 public:
  // `context`: positions of a sequence. Throws Error(kInvalidArgument) when the prompt leaves no room for sound.
  TtsTask(TtsRunner& runner, TtsPrompt prompt, const TtsSampling& sampling, int64_t context, TtsListener listener,
          Client client = {}, Priority priority = Priority::kNormal);

  Runner* runner() const override;
  Client client() const override { return client_; }
  Priority priority() const override { return priority_; }
  void begin(TaskHost& host) override;
  void settle(TaskHost&) override {}
  bool is_over() const override { return reason_ || error_; }
  void end(StopReason reason) override;
  void fail(const Error& error) override;
  void notify() override;

  const TtsPrompt& prompt() const { return prompt_; }
  std::span<const int32_t> frame(int64_t i) const;

 private:
  friend class TtsRunner;
  int64_t groups() const;
  // The first code of the next frame; the end's when it is over.
  int32_t draw_first(std::span<const float> logits);
  int32_t draw_group(std::span<const float> logits);
  void take_frame(Sequence& sequence, std::span<const int32_t> codes, TaskHost& host);

  TtsRunner& runner_;
  TtsPrompt prompt_;
  int64_t most_frames_;
  bool is_context_short_;
  Sampler first_, group_;
  std::vector<int32_t> codes_;  // of all frames
  size_t heard_ = 0;            // of codes_
  TtsListener listener_;
  Client client_;
  Priority priority_;
  std::optional<StopReason> reason_;
  std::optional<Error> error_;
  bool has_told_ = false;
};

// Passes over the talker, then over the predictor for all frames that were begun.
class TtsRunner final : public Runner {
 public:
  explicit TtsRunner(const Qwen3Tts& model);
  void use(const KvCache& cache) { cache_ = &cache; }  // of the engine; it must live longer

  std::unique_ptr<Pass> start(const StepPlan& plan) override;
  const Qwen3Tts& model() const { return model_; }
  // Codes of the talker that may come: all sounds, and the end if it may.
  std::span<const uint32_t> allowed(bool may_end) const { return may_end ? with_end_ : without_end_; }

 private:
  class TtsPass;
  std::vector<InputEmbeddings> inputs(const StepPlan& plan) const;
  std::vector<std::vector<int32_t>> predict(std::span<TtsTask* const> tasks, const Tensor& thought);

  const Qwen3Tts& model_;
  const KvCache* cache_ = nullptr;
  KvCache frames_;  // of the predictor: one text of a frame each
  int64_t frame_places_ = 0;
  std::vector<uint32_t> with_end_, without_end_;
};

}  // namespace wick
