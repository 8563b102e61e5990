#pragma once

#include <memory>

#include "engine/engine_options.h"
#include "engine/kv/block_pool.h"
#include "engine/kv/prefix_index.h"
#include "engine/sequence.h"
#include "models/language_model.h"
#include "nn/kv_cache.h"

namespace wick {

// The memory of sequences: blocks of the cache, what is known of texts that came before, and a place for what preempted
// sequences had. Not thread-safe.
class KvMemory {
 public:
  // `context`: what one sequence may need; with options.context 0 it is lowered to what fits. Throws
  // Error(kOutOfMemory) with the numbers when the memory does not hold one such sequence.
  KvMemory(const LanguageModel& model, const EngineOptions& options, int64_t context);

  int64_t context() const { return context_; }
  const KvCache& cache() const { return cache_; }

  // Begins a sequence with what is known of its text. Fewer tokens than it has: the last one's logits are wanted.
  void begin(Sequence& sequence);
  // Whether a sequence shares blocks with others by what they hold: not where every token has to be seen.
  bool keeps(const Sequence& sequence) const;
  // How many tokens begin() would find now; 0 for a sequence that does not share.
  int64_t known(const Sequence& sequence) const;
  // Whether there is room to compute up to `tokens` tokens of a sequence that has not begun, or is preempted.
  bool has_room(const Sequence& sequence, int64_t tokens) const;
  // How many tokens of a sequence begin() will find once another has been computed.
  int64_t shareable(const Sequence& sequence, const Sequence& other) const;
  // Room to compute up to `tokens` tokens, in blocks nobody else writes to. False when even giving up all that is only
  // kept for later would not be enough; then nothing has changed.
  bool try_reserve(Sequence& sequence, int64_t tokens);
  // Tokens that try_reserve() could grant at most.
  int64_t reservable(const Sequence& sequence) const;
  // A second sequence that shares all the first has. It needs no room until it is written to.
  void fork(const Sequence& from, Sequence& to);
  // After a pass: makes full blocks known to others, gives up what lies before every window and behind the last token.
  void settle(Sequence& sequence);
  // Gives everything back. `is_sound`: what was computed is known to others from now on.
  void release(Sequence& sequence, bool is_sound = true);

  // Everything is free, and nothing is known of any text: after a failure that left this in disorder. No sequence may
  // have anything.
  void forget() noexcept;

  // Frees the blocks of a sequence that will go on later: keeps their contents if that is cheaper than computing them
  // again, at `seconds_per_token`, and there is room to; else the tokens are to be computed again.
  void preempt(Sequence& sequence, double seconds_per_token);
  // False when there is no room now.
  bool try_resume(Sequence& sequence);

  // The next place where a pass over a prompt should end, so that the state there can be kept; `end` if anywhere.
  int64_t cut(const Sequence& sequence, int64_t end) const;

  int64_t total() const { return pool_.total(); }
  int64_t free() const { return pool_.free(); }
  int64_t idle() const { return pool_.idle(); }  // kept for later alone
  double pressure() const;                       // part of the blocks that sequences hold
  void describe(EngineSnapshot& snapshot) const;

 private:
  PrefixIndex::Peek peek(const Sequence& sequence) const;
  bool make_free(int64_t blocks);
  void remember(Sequence& sequence);
  void remember_end(Sequence& sequence);
  void add_partial(Sequence& sequence, const PartialBlock& partial);

  const LanguageModel& model_;
  int64_t context_;
  int64_t state_tokens_;
  KvCache cache_;
  BlockPool pool_;
  std::unique_ptr<PrefixIndex> index_;
  int64_t swap_bytes_, swapped_bytes_ = 0;
  double swap_rate_;  // bytes per second
  int64_t window_freed_ = 0, swapped_blocks_ = 0, recomputed_tokens_ = 0;
};

}  // namespace wick
