#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "engine/task.h"
#include "engine/text/drafter.h"
#include "engine/text/generation.h"
#include "hooks/hook_cache.h"
#include "hooks/hook_spec.h"
#include "models/forward_batch.h"

namespace wick {

// What somebody wants from an engine: text.
struct EngineRequest {
  std::vector<int32_t> prompt;
  // Of a model with an encoder, which reads the prompt: a control token that the text begins with, such as a language.
  std::string begins_with;
  std::vector<InputEmbeddings> embeddings;  // what stands for some of its tokens: see SequenceRows::embeddings
  GenerationParams params;
  int64_t choices = 1;  // answers to the one prompt; answer i is drawn with seed + i
  Client client;
  std::optional<std::vector<int64_t>> adapters;  // numbers of the model's; empty: those without a name
  std::string cache_salt;                        // only requests of one salt share what is computed
  Priority priority = Priority::kNormal;
  std::optional<EngineClock::time_point> deadline;  // what there is by then is the answer
  // Log-probabilities of the prompt's own tokens and of this many of the likeliest in their places; empty: none.
  std::optional<int64_t> prompt_logprobs;
  HookSpec hooks;
  std::shared_ptr<HookCache> capture;  // where captured values go; may be null
  std::shared_ptr<Drafter> drafter;    // instead of the engine's
  int64_t draft_tokens = 0;            // at most, at a time; 0: what the engine's options say
};

struct RequestEvent {
  enum class Kind : uint8_t {
    kPrompt,  // some of the prompt has been computed
    kToken,   // a token of a choice
    kEnd,     // a choice is over; when all are, nothing more comes
    kError,   // the request is over, with no answer
  };
  Kind kind;
  int64_t choice = 0;                                 // kToken, kEnd: which
  int64_t done = 0, total = 0;                        // kPrompt: tokens
  const SampledToken* token = nullptr;                // kToken; kPrompt with prompt_logprobs: null
  std::string_view text;                              // kToken, kEnd: what can be shown now
  const GenerateResult* result = nullptr;             // kEnd
  const std::vector<SampledToken>* prompt = nullptr;  // kPrompt, once it is computed: the asked log-probabilities
  const Error* error = nullptr;                       // kError
};
// Called on the engine's thread, between passes or while a GPU computes the next: must not block. May call
// Engine::submit() and cancel().
using RequestListener = std::function<void(const RequestEvent&)>;

}  // namespace wick
