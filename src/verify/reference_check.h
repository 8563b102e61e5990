#pragma once

#include <string>
#include <vector>

#include "formats/weights.h"
#include "models/model_options.h"

namespace wick {

// One tensor of a reference against what the model computes.
struct TensorCheck {
  std::string name;  // in the reference: "hidden_3"
  Shape shape;
  double max_abs = 0;   // the largest difference
  double relative = 0;  // that, as a share of the spread (max - min) of the expected values
  std::string problem;  // why it cannot be compared; empty: it can
  bool ok = false;
};

// Tokens that both agree on.
struct TokenCheck {
  std::string name;  // "greedy", "top 5 of logits"
  int64_t same = 0, total = 0;
  bool counts = false;  // a difference fails the check, unless two tokens are tied there
  bool ok = true;
  std::string note;  // where the first difference is; may be empty
};

struct ReferenceReport {
  std::string family;
  bool inferred = false;        // the family is not known by name
  DType weights = DType::kF32;  // the type of most weights, as stored
  double tolerance = 0;
  std::vector<TensorCheck> tensors;
  std::vector<TokenCheck> tokens;
  std::vector<std::string> not_checked;  // in the reference, but not understood

  bool ok() const;
};

struct ReferenceOptions {
  ModelOptions model;
  double tolerance = 2e-4;
};

// Runs a model on the inputs of a reference and compares every value that is there. Of language models:
//   input_ids [1, n], logits [1, n, vocabulary]; further texts as input_ids_<x>, logits_<x>
//   hidden_0 .. hidden_<layers> [1, n, hidden]: what enters each layer; the last: after the final norm. Of models
//     without attention (Mamba, RWKV), where transformers hands out that: what leaves each layer
//   attention_0 .. [1, heads, n, n]: patterns of the layers that have attention, in order
//   greedy [1, m]: the best tokens behind input_ids, one after the other
// Of text encoders: input_ids and attention_mask [texts, tokens], last_hidden_state [texts, tokens, hidden], hidden_0
// .., pooler_output; what is padded is not compared. Of Qwen3-ASR: input_features [1, bins, frames],
// input_features_mask, audio_embeddings, input_ids, logits, greedy; of Whisper: input_features,
// encoder_last_hidden_state, decoder_input_ids, logits, greedy; of wav2vec2: input [1, samples], logits; of T5,
// BART and those like them: input_ids, encoder_last_hidden_state, decoder_input_ids, logits, greedy, which follows the
// first of the decoder's tokens alone. Keys and
// values are in f32. Throws Error(kBadFile) when inputs or logits are missing or of an impossible shape,
// Error(kUnsupported) when the values depend on other inputs, and what loading throws.
ReferenceReport check_reference(const WeightSource& source, const Checkpoint& reference,
                                const ReferenceOptions& options = {});

}  // namespace wick
