#pragma once

#include <memory>
#include <span>
#include <vector>

#include "engine/runner.h"
#include "engine/sampling/logits.h"
#include "hooks/sequence_hooks.h"
#include "models/language_model.h"
#include "tensor/arena.h"

namespace wick {

// How many rows of logits a task wants of its part in a pass: of the first positions, and of the last ones.
struct RowsWanted {
  int64_t scored = 0;  // to see how likely the positions behind them were
  int64_t chosen = 0;  // to choose what comes next
};

// The rows of one part.
struct PartLogits {
  const Logits& logits;
  int64_t first;
  RowsWanted count;

  TokenLogits scored(int64_t i) const { return logits.row(first + i); }
  TokenLogits chosen(int64_t i) const { return logits.row(first + count.scored + i); }
};

// A task whose positions are fed to a language model, and that goes on from its logits.
class LanguageTask : public Task {
 public:
  // Called when a pass is built.
  virtual RowsWanted prepare(const Planned& planned) = 0;
  // What a device could draw from the wanted rows; as it is, they all come to the host.
  virtual void add_draws(const Planned& planned, const RowsWanted& wanted, TokenDraws& to);
  // What would be drawn behind the token that this pass draws; false where that needs the row of logits.
  virtual bool add_draw_behind(const Planned&, TokenDraws&) { return false; }
  // Returns how many drafted tokens were right.
  virtual int64_t take(const Planned& planned, const PartLogits& rows, TaskHost& host) = 0;

  virtual std::span<const InputEmbeddings> embeddings(const Sequence&) const { return {}; }
  // What an encoder made of the input, for decoders that look at it: all sequences of a task may share it.
  virtual RecurrentState* encoded() { return nullptr; }
  virtual const SequenceHooks* hooks(const Sequence&) const { return nullptr; }
  virtual const std::vector<int64_t>* adapters() const { return nullptr; }  // as in SequenceRows
};

// Passes of a language model over any mix of prompts, single tokens and drafts.
class LanguageRunner final : public Runner {
 public:
  // Both must live longer.
  LanguageRunner(const LanguageModel& model, const KvCache& cache) : model_(model), cache_(cache) {}

  std::unique_ptr<Pass> start(const StepPlan& plan) override;
  bool can_start_behind(const Pass& pass) override;
  std::unique_ptr<Pass> start_behind(const Pass& pass) override;

 private:
  class LanguagePass;

  const LanguageModel& model_;
  const KvCache& cache_;
  ForwardBatch batch_;
  TokenDraws draws_;  // of all rows of logits
};

}  // namespace wick
