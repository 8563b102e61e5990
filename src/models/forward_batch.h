#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "hooks/sequence_hooks.h"
#include "nn/recurrent_state.h"
#include "tensor/tensor.h"

namespace wick {

// Rows that stand in for the embeddings of tokens: what a model hears or sees.
struct InputEmbeddings {
  int64_t position = 0;  // in the sequence, of the first row
  Tensor rows;           // f32 [count, hidden] on the model's device
  // What else is added to the stream of these rows, behind layer 0, 1, ...: each like `rows`.
  std::vector<Tensor> deep = {};
  // Rows that lie in frames, rows and columns turn by their three places in it, and what follows them by the largest of
  // the three sizes; {}: each row takes a position like a token.
  std::array<int64_t, 3> grid = {};
  // Each of these rows sees all of them, in layers with a window, too. A pass that has some has the last one.
  bool is_whole = false;

  bool lies_in_grid() const { return grid[0] != 0; }
};

// What a sequence carries for drafts by its own model (MTP).
struct Lookahead {
  Tensor last;       // f32 [1, hidden]: what the last norm gave for the token before the rows; undefined: not known
  Tensor rows;       // the same for the last `kept` rows, which the pass writes
  int64_t kept = 1;  // at most as many as there are
};

// One sequence's part in a batch: a chunk of a prompt, one token of an answer, a draft to be checked.
struct SequenceRows {
  int64_t tokens = 0;    // how many
  int64_t position = 0;  // of the first; everything before it is in the cache already
  // Of the key-value cache, enough for position + tokens. kNoBlock may stand for those that lie wholly before
  // position - window + 1 in models with a window, unless hooks watch attention scores or patterns.
  std::span<const int32_t> blocks;
  RecurrentState* state = nullptr;  // for models that have one
  const SequenceHooks* hooks = nullptr;
  // Of the whole sequence, however it is cut: those at other positions than this part's are passed over. Ascending, and
  // no two at one position. The tokens that they replace count only as places.
  std::span<const InputEmbeddings> embeddings = {};
  // Numbers of the model's adapters, in ascending order; null: those that it was loaded with.
  const std::vector<int64_t>* adapters = nullptr;
  Lookahead* lookahead = nullptr;  // null: nobody drafts with the model itself
};

// Tokens of any number of sequences in one flat list. The forward pass of every model takes this and nothing else.
struct ForwardBatch {
  std::vector<int32_t> tokens;
  // i32 [tokens] on the model's device, instead of `tokens`, which only count then: tokens that were drawn there and
  // that the host does not know yet. One that is below 0 stands for any. Undefined: there are none.
  Tensor drawn;
  std::vector<SequenceRows> sequences;  // in the order of their tokens
  std::vector<int64_t> logit_rows;      // indices into tokens whose logits are wanted, ascending

  void clear() {
    tokens.clear();
    drawn = {};
    sequences.clear();
    logit_rows.clear();
  }
};

}  // namespace wick
