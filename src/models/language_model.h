#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "models/forward_batch.h"
#include "models/stream_weights.h"
#include "nn/kv_cache.h"
#include "nn/recurrent_state.h"

namespace wick {

class AdapterSlots;
class VisionEncoder;

// What callers need to know of a model.
struct ModelFacts {
  std::string family;  // "qwen3"
  int64_t layers = 0, hidden = 0, vocabulary = 0;
  int64_t heads = 0;        // 0: no attention
  int64_t max_context = 0;  // positions the model was made for; 0: any
  int64_t parameters = 0;
  int64_t weight_bytes = 0;
  std::vector<KvShape> kv_layers;  // what attention layers keep per token; empty: none do
  // Tokens that a token sees, itself among them, in the attention layer that sees furthest. Blocks before them may be
  // given up. 0: a layer sees everything, or there is no attention.
  int64_t window = 0;
  // Tokens of a text that the model reads with an encoder before it generates; 0: it has none, and continues prompts.
  int64_t source_positions = 0;
  bool recurrent = false;         // sequences need a state from new_state() or encode_source()
  bool takes_embeddings = false;  // sequences may bring InputEmbeddings
  bool takes_grids = false;       // and those may lie in grids
  bool takes_drawn = false;       // batches may bring tokens that the device has drawn
  bool looks_ahead = false;       // look_ahead() may be asked: the last of kv_layers is that of the layer for it
};

// A model that continues sequences of tokens. Immutable once loaded: any number of threads may run passes over
// different caches and states.
class LanguageModel {
 public:
  virtual ~LanguageModel() = default;

  const ModelFacts& facts() const { return facts_; }
  virtual Device device() const = 0;
  // What makes embeddings of pictures; null: the model does not see.
  virtual const VisionEncoder* vision() const { return nullptr; }
  // The state before the first token; empty for models that need none.
  virtual RecurrentState new_state() const { return {}; }

  // What the encoder makes of a text, for models with source_positions: the state of sequences that look at it, which
  // may share it, as passes do not change it. `dtype`: f32, f16 or bf16. Throws Error(kInvalidArgument) for texts that
  // the encoder does not take, Error(kUnsupported) for models without one.
  virtual RecurrentState encode_source(std::span<const int32_t> tokens, DType dtype) const;

  // One pass: takes tokens, extends the cache and the states, returns logits f32 [logit_rows, vocabulary]. A row's
  // logits depend on its sequence alone, bit for bit: not on other sequences, chunks or threads. Throws
  // Error(kInvalidArgument) for tokens outside the vocabulary and rows that do not fit each other, before anything is
  // written; Error(kBadFile) when a file that it reads was changed, before or while it was read.
  Tensor forward(const ForwardBatch& batch, const KvCache& cache) const;

  // What comes behind the next token.
  struct Ahead {
    Tensor logits;  // f32 [sequences, vocabulary]
    Tensor rows;    // f32 [sequences, hidden], in place of `last` for the token behind that
  };
  // One token for each sequence, the next of its text, with `last` [sequences, hidden] of the one before it. Writes
  // keys and values of the layer for it alone, over which later passes write. Throws Error(kUnsupported) unless
  // facts().looks_ahead.
  virtual Ahead look_ahead(const ForwardBatch& batch, const Tensor& last, const KvCache& cache) const;

  // The adapters that it has and takes. Throws Error(kUnsupported) for families that take none.
  virtual AdapterSlots& adapters() const;

  // The files whose bytes passes read; who loads a model says it.
  void set_files(std::vector<std::shared_ptr<const MappedFile>> files) { files_ = std::move(files); }
  // Why it has to be loaded again: MappedFile::problem() of one of them; empty: it need not.
  std::string problem() const;

  // For looking inside: the logits [rows, vocabulary] that rows [rows, hidden] of the residual stream would give,
  // behind the last norm or without it. Throws Error(kUnsupported) where a model has no such thing.
  virtual Tensor project_to_vocab(const Tensor& rows, bool final_norm) const;
  virtual StreamReader stream_reader() const;
  // `point` is kAttnOut or kMlpOut. Without a linear where that part of the layer does not end in one product.
  virtual StreamWriter stream_writer(int /*layer*/, HookPoint /*point*/) const { return {}; }

 protected:
  virtual Tensor run(const ForwardBatch& batch, const KvCache& cache) const = 0;
  ModelFacts facts_;

 private:
  void check_files() const;
  std::vector<std::shared_ptr<const MappedFile>> files_;
};

}  // namespace wick
