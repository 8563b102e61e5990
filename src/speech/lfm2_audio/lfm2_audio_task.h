#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "engine/runner.h"
#include "engine/sampling/sampler.h"
#include "engine/task.h"
#include "speech/lfm2_audio/lfm2_audio.h"

namespace wick {

// How an answer mixes text and sound.
enum class AudioTurns : uint8_t {
  kInterleaved,  // a few tokens, then a few frames, and so on: conversations
  kSequential    // text until it says that sound begins: transcripts and reading aloud
};

struct Lfm2AudioOptions {
  AudioTurns turns = AudioTurns::kInterleaved;
  SamplingParams text, audio;  // of tokens, and of each code
  int64_t most_steps = 512;    // tokens and frames
};

// What a task tells, in order.
struct Lfm2AudioListener {
  std::function<void(int32_t token)> text;
  std::function<void(std::span<const int32_t> codes)> frame;  // the one that ends a stretch of sound is all ends
  std::function<void(StopReason reason, const Error* error)> over;
};

class Lfm2AudioRunner;

// One answer: a token or a frame at each step.
class Lfm2AudioTask final : public Task {
 public:
  // `prompt`: rows f32 [positions, hidden]. Throws Error(kInvalidArgument) when it leaves no room for an answer.
  Lfm2AudioTask(Lfm2AudioRunner& runner, Tensor prompt, const Lfm2AudioOptions& options, int64_t context,
                Lfm2AudioListener listener, Client client = {}, Priority priority = Priority::kNormal);

  Runner* runner() const override;
  Client client() const override { return client_; }
  Priority priority() const override { return priority_; }
  void begin(TaskHost& host) override;
  void settle(TaskHost&) override {}
  bool is_over() const override { return reason_ || error_; }
  void end(StopReason reason) override;
  void fail(const Error& error) override { error_ = error; }
  void notify() override;

 private:
  friend class Lfm2AudioRunner;
  // A token of text, or a frame's codes.
  using Step = std::vector<int32_t>;
  void begin_step();
  int32_t draw_token(std::span<const float> logits);
  int32_t draw_code(std::span<const float> logits);
  void take_token(Sequence& sequence, int32_t token, TaskHost& host);
  void take_frame(Sequence& sequence, Step codes, TaskHost& host);
  void go_on(Sequence& sequence, Step step, TaskHost& host);

  Lfm2AudioRunner& runner_;
  Tensor prompt_;
  Lfm2AudioOptions options_;
  int64_t most_steps_;
  Sampler text_, audio_;
  std::vector<Step> steps_;  // that were fed back: text has one number
  std::vector<Step> news_;
  bool in_audio_ = false, text_is_over_ = false;
  int64_t left_ = 0;  // of the present stretch, interleaved
  Lfm2AudioListener listener_;
  Client client_;
  Priority priority_;
  std::optional<StopReason> reason_;
  std::optional<Error> error_;
  bool has_told_ = false;
};

// Passes over the backbone, then over the depth decoder for those whose turn is sound.
class Lfm2AudioRunner final : public Runner {
 public:
  explicit Lfm2AudioRunner(const Lfm2Audio& model) : model_(model) {}
  void use(const KvCache& cache) { cache_ = &cache; }  // of the engine; it must live longer

  std::unique_ptr<Pass> start(const StepPlan& plan) override;
  const Lfm2Audio& model() const { return model_; }

 private:
  class AudioPass;
  const Lfm2Audio& model_;
  const KvCache* cache_ = nullptr;
};

}  // namespace wick
