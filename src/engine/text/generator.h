#pragma once

#include <memory>
#include <span>

#include "base/function_ref.h"
#include "engine/text/text_engine.h"

namespace wick {

struct GenerateParams : GenerationParams {
  std::string begins_with;                  // see EngineRequest
  std::vector<InputEmbeddings> embeddings;  // what stands for some of the prompt's tokens
  HookSpec hooks;
  HookCache* capture = nullptr;  // where captured values go; may be null
  Drafter* drafter = nullptr;    // drafts tokens, unless there are hooks; the answer is the same
  int64_t draft_tokens = 8;      // at most, at a time
};

struct GenerateEvent {
  enum class Kind : uint8_t { kPrefill, kToken, kDone };
  Kind kind;
  int64_t done = 0, total = 0;             // kPrefill: tokens of the prompt
  const SampledToken* token = nullptr;     // kToken
  std::string_view text;                   // kToken and kDone: what can be shown now
  const GenerateResult* result = nullptr;  // kDone
};
// Answers false to stop.
using GenerateCallback = FunctionRef<bool(const GenerateEvent&)>;

// How much a generator may hold.
struct GeneratorOptions {
  int64_t context = 0;           // tokens; 0: the model's context, at most kDefaultContext
  DType kv_dtype = DType::kF16;  // f32, f16, bf16 or i8
  int64_t beams = 1;             // that a search may follow
  int64_t prefill_chunk = 512;   // tokens of a prompt per pass; the answer does not depend on it
  // Where somebody waits: passes over a prompt are cut so that each takes about this long, and a cancel is heard soon.
  double seconds_per_pass = 0;  // 0: however long
};

// One text at a time: an engine of one sequence, stepped on the caller's thread. What a prompt and earlier texts begin
// with in common is not computed again. One thread at a time.
class Generator {
 public:
  explicit Generator(std::shared_ptr<const TextModel> model, const GeneratorOptions& options = {});

  const TextModel& model() const { return engine_.model(); }
  int64_t context() const { return engine_.context(); }

  // Throws Error(kInvalidArgument) for an empty prompt, one longer than the context (with both numbers), tokens outside
  // the vocabulary and parameters out of range. After an error or a cancel the generator can be used again.
  GenerateResult generate(std::span<const int32_t> prompt, const GenerateParams& params, GenerateCallback callback);
  GenerateResult generate(std::span<const int32_t> prompt, const GenerateParams& params = {});

  // Logits of every token of a text, chunk by chunk: for perplexity.
  void score(std::span<const int32_t> tokens, FunctionRef<void(int64_t first, std::span<const TokenLogits> rows)> each);

 private:
  class Listener;

  TextEngine engine_;
};

}  // namespace wick
