#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "engine/answer.h"
#include "engine/block_pool.h"
#include "engine/context.h"
#include "engine/drafter.h"
#include "engine/text_model.h"
#include "hooks/sequence_hooks.h"
#include "nn/kv_cache.h"
#include "tensor/arena.h"

namespace wick {

struct GenerateParams : AnswerParams {
  HookSpec hooks;
  HookCache* capture = nullptr;  // where captured values go; may be null
  Drafter* drafter = nullptr;    // guesses tokens ahead, unless there are hooks; the answer is the same
  int64_t draft_tokens = 8;      // at most, at a time
};

struct GenerateEvent {
  enum class Kind : uint8_t { kPrefill, kToken, kDone };
  Kind kind;
  int64_t done = 0, total = 0;             // kPrefill: tokens of the prompt
  const TokenChoice* token = nullptr;      // kToken
  std::string_view text;                   // kToken and kDone: what can be shown now
  const GenerateResult* result = nullptr;  // kDone
};
// Answers false to stop.
using GenerateCallback = FunctionRef<bool(const GenerateEvent&)>;

// How much a generator may hold.
struct GeneratorOptions {
  int64_t context = 0;           // tokens; 0: the model's context, at most kDefaultContext
  DType kv_dtype = DType::kF16;  // f32, f16, bf16 or i8
  int64_t prefill_chunk = 512;   // tokens of a prompt per pass; the answer does not depend on it
  // Where somebody waits: passes over a prompt are cut so that each takes about this long, and a cancel is heard soon.
  double seconds_per_pass = 0;  // 0: however long
};

// Continues one text at a time. What two prompts in a row begin with in common is not computed again. One thread at a
// time.
class Generator {
 public:
  explicit Generator(std::shared_ptr<const TextModel> model, const GeneratorOptions& options = {});

  const TextModel& model() const { return *model_; }
  int64_t context() const { return context_; }

  // Throws Error(kInvalidArgument) for an empty prompt, one longer than the context (with both numbers), tokens outside
  // the vocabulary and parameters out of range. After an error or a cancel the generator can be used again.
  GenerateResult generate(std::span<const int32_t> prompt, const GenerateParams& params, GenerateCallback callback);
  GenerateResult generate(std::span<const int32_t> prompt, const GenerateParams& params = {});

  // Logits of every token of a text [tokens, vocabulary], chunk by chunk: for perplexity.
  void score(std::span<const int32_t> tokens, FunctionRef<void(int64_t first, const Tensor& logits)> each);

  void forget();  // the text so far

 private:
  class Run;
  friend class Run;
  void keep_prefix(std::span<const int32_t> prompt, bool everything_again);
  int64_t next_chunk() const;  // tokens
  // Runs tokens behind those in the cache; logits of the last `logit_rows` of them.
  // `drawn`: the one token, if the device has drawn it and the host does not know it yet.
  Tensor forward(std::span<const int32_t> tokens, int64_t logit_rows, const SequenceHooks* hooks,
                 const Tensor& drawn = {});

  std::shared_ptr<const TextModel> model_;
  int64_t context_;
  int64_t prefill_chunk_;
  double seconds_per_pass_;
  double prefill_rate_ = 0;  // tokens per second of the last pass over a prompt; 0: there was none
  KvCache cache_;
  BlockPool pool_;
  Arena arena_;
  ForwardBatch batch_;
  std::vector<int32_t> tokens_;  // in the cache
  std::vector<int32_t> blocks_;
  RecurrentState state_;
};

}  // namespace wick
