#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engine/drafter.h"
#include "engine/request.h"
#include "engine/snapshot.h"
#include "hooks/sequence_hooks.h"
#include "nn/kv_cache.h"

namespace wick {

// A request inside the engine: what is wanted, and who listens.
struct OpenRequest {
  struct Listener {
    RequestId id;
    RequestListener call;
  };
  // What a listener that joins later still has to hear.
  struct Told {
    int64_t choice;
    TokenChoice token;
    std::string text;
  };
  struct Ended {
    int64_t choice;
    std::string text;
    GenerateResult result;
  };

  RequestId id = 0;
  EngineRequest wanted;
  EngineClock::time_point arrived;
  std::vector<Listener> listeners;  // more than one when equal requests came
  std::vector<Told> told;
  std::vector<Ended> ended;
  std::vector<TokenChoice> prompt_choices;  // log-probabilities of the prompt, as far as it is read
  int64_t prompt_done = 0;
  int64_t choices_begun = 1, choices_left = 0;

  bool has_hooks() const { return !wanted.hooks.empty(); }
};

// One text while the engine computes it: the prompt and one answer.
struct Sequence {
  std::shared_ptr<OpenRequest> request;
  int64_t choice = 0;
  double turn = 0;              // the lower, the sooner: see Scheduler
  std::vector<int32_t> tokens;  // prompt and answer
  int64_t prompt_tokens = 0;
  std::vector<int32_t> draft;  // guesses behind the tokens, for the next pass

  // In memory:
  int64_t computed = 0;         // tokens whose keys and values are there, or whose work the state has done
  int64_t ahead = 0;            // tokens behind them that are being computed without being known
  std::vector<int32_t> blocks;  // of the cache
  RecurrentState state;
  RecurrentState before;  // a draft was run: the state to go back to where it is wrong
  struct Saved {
    SavedBlocks contents;
    std::vector<int32_t> table;  // the blocks as they were; which were given up counts
  };
  std::optional<Saved> saved;  // while paused

  SequencePhase phase = SequencePhase::kWaiting;
  std::optional<Answer> answer;
  Drafter* drafter = nullptr;  // null: nobody drafts for it
  SequenceHooks hooks;
  std::optional<Error> hook_error;  // what went wrong in them: the request fails, the others of the pass do not
  GenerateResult result;
  std::optional<EngineClock::time_point> started, first_token, last_token;

  int64_t uncomputed() const { return static_cast<int64_t>(tokens.size()) - computed; }
  bool is_running() const { return phase == SequencePhase::kPrefill || phase == SequencePhase::kDecode; }
};

}  // namespace wick
