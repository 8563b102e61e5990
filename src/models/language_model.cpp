#include "models/language_model.h"

#include <algorithm>

#include "base/checked.h"
#include "base/error.h"
#include "base/text.h"
#include "nn/kv_blocks_for.h"

namespace wick {
namespace {

Error bad(const std::string& what) { return {ErrorCode::kInvalidArgument, cat("forward: ", what)}; }

bool looks_at_maps(const SequenceHooks* hooks) {
  return hooks && (hooks->touches(HookPoint::kAttnScores) || hooks->touches(HookPoint::kAttnPattern));
}

void check_embeddings(const SequenceRows& rows, size_t index, const ModelFacts& facts, Device device) {
  if (rows.embeddings.empty()) return;
  if (!facts.takes_embeddings) {
    throw bad(cat("sequence ", index, " brings embeddings, which this ", facts.family, " does not take"));
  }
  int64_t free_from = 0;
  for (const InputEmbeddings& given : rows.embeddings) {
    const Tensor& x = given.rows;
    if (!x.defined() || x.dtype() != DType::kF32 || x.rank() != 2 || x.dim(1) != facts.hidden) {
      throw bad(cat("embeddings of sequence ", index, " are ",
                    x.defined() ? cat(x.dtype(), " ", x.shape()) : std::string("undefined"), ", expected f32 [rows, ",
                    facts.hidden, "]"));
    }
    if (x.device() != device) {
      throw bad(cat("embeddings of sequence ", index, " are on ", x.device(), ", the model is on ", device));
    }
    for (const Tensor& deep : given.deep) {
      const bool fits = deep.defined() && deep.dtype() == DType::kF32 && deep.shape() == x.shape();
      if (fits && deep.device() == device && std::ssize(given.deep) <= facts.layers) continue;
      throw bad(cat("embeddings of sequence ", index, " bring ", given.deep.size(),
                    " more for layers, of which one is ",
                    deep.defined() ? cat(deep.dtype(), " ", deep.shape()) : std::string("undefined"), ", expected ",
                    x.dtype(), " ", x.shape()));
    }
    if (given.lies_in_grid()) {
      const auto [frames, rows, columns] = given.grid;
      const auto area = checked_mul(rows, columns);
      const auto count = area ? checked_mul(*area, frames) : std::nullopt;
      if (!facts.takes_grids || frames < 1 || rows < 1 || columns < 1 || count != x.dim(0)) {
        throw bad(cat("embeddings of sequence ", index, ", ", x.dim(0), " rows, lie in ", frames, " x ", rows, " x ",
                      columns,
                      facts.takes_grids ? "" : cat(", but this ", facts.family, " has positions of one axis")));
      }
    }
    const int64_t behind = rows.position + rows.tokens, last = given.position + x.dim(0);
    if (given.is_whole && given.position < behind && last > behind && last > rows.position) {
      throw bad(cat("a pass over sequence ", index, " ends at position ", behind, ", within embeddings up to ", last,
                    " that see each other"));
    }
    if (given.position < free_from) {
      throw bad(cat("embeddings of sequence ", index, " begin at position ", given.position, ", expected at least ",
                    free_from));
    }
    const auto end = checked_add(given.position, x.dim(0));
    if (!end) throw bad(cat("embeddings of sequence ", index, " begin at position ", given.position));
    free_from = *end;
  }
}

void check_sequence(const SequenceRows& rows, size_t index, const ModelFacts& facts, int64_t blocks) {
  if (rows.tokens <= 0 || rows.position < 0) {
    throw bad(cat("sequence ", index, " has ", rows.tokens, " tokens from position ", rows.position));
  }
  const int64_t end = rows.position + rows.tokens;
  if (facts.max_context > 0 && end > facts.max_context) {
    throw bad(cat("sequence ", index, " reaches position ", end, ", the model's context is ", facts.max_context));
  }
  if (facts.recurrent && (!rows.state || rows.state->empty())) {
    throw bad(cat("sequence ", index, " has no state",
                  facts.source_positions > 0
                      ? cat(": a ", facts.family, " continues no text by itself, it has an encoder")
                      : std::string()));
  }
  if (facts.kv_layers.empty()) return;
  const int64_t needed = kv_blocks_for(end);
  if (static_cast<int64_t>(rows.blocks.size()) < needed) {
    throw bad(cat("sequence ", index, " needs ", needed, " blocks and has ", rows.blocks.size()));
  }
  const int64_t first_seen = facts.window > 0 ? std::max<int64_t>(0, rows.position - facts.window + 1) : 0;
  for (int64_t i = 0; i < needed; ++i) {
    const int32_t block = rows.blocks[static_cast<size_t>(i)];
    if (block == kNoBlock && i < first_seen / kKvBlockTokens) {
      if (!looks_at_maps(rows.hooks)) continue;
      throw bad(cat("hooks look at the attention of sequence ", index, ", whose first blocks were given up"));
    }
    if (block < 0 || block >= blocks) throw bad(cat("block ", block, " of sequence ", index, " is not in the cache"));
  }
}

void check_drawn(const Tensor& drawn, int64_t count, const ModelFacts& facts, Device device) {
  if (!drawn.defined()) return;
  if (!facts.takes_drawn) throw bad(cat("this ", facts.family, " takes no tokens that were drawn on a device"));
  if (drawn.dtype() != DType::kI32 || drawn.shape() != Shape{count} || !drawn.is_contiguous() ||
      drawn.device() != device) {
    throw bad(cat("drawn tokens are ", drawn.dtype(), " ", drawn.shape(), " on ", drawn.device(), ", expected i32 [",
                  count, "] on ", device));
  }
}

}  // namespace

Tensor LanguageModel::forward(const ForwardBatch& batch, const KvCache& cache) const {
  const auto count = static_cast<int64_t>(batch.tokens.size());
  for (const int32_t token : batch.tokens) {
    if (token < 0 || token >= facts_.vocabulary) {
      throw bad(cat("token ", token, " is outside the vocabulary of ", facts_.vocabulary));
    }
  }
  check_drawn(batch.drawn, count, facts_, device());
  int64_t rows = 0;
  for (size_t i = 0; i < batch.sequences.size(); ++i) {
    check_sequence(batch.sequences[i], i, facts_, cache.blocks());
    check_embeddings(batch.sequences[i], i, facts_, device());
    rows += batch.sequences[i].tokens;
  }
  if (rows != count || count == 0) throw bad(cat("the sequences have ", rows, " tokens, the batch ", count));
  int64_t last = -1;
  for (const int64_t row : batch.logit_rows) {
    if (row <= last || row >= count)
      throw bad(cat("logits of row ", row, " of ", count, " are asked for after ", last));
    last = row;
  }
  if (cache.layers() != facts_.kv_layers.size()) {
    throw bad(cat("the cache has ", cache.layers(), " layers, the model ", facts_.kv_layers.size()));
  }
  check_files();
  Tensor logits = run(batch, cache);
  check_files();
  return logits;
}

std::string LanguageModel::problem() const {
  for (const auto& file : files_) {
    if (std::string problem = file->problem(); !problem.empty()) return problem;
  }
  return {};
}

void LanguageModel::check_files() const {
  if (const std::string what = problem(); !what.empty()) throw Error(ErrorCode::kBadFile, what);
}

RecurrentState LanguageModel::encode_source(std::span<const int32_t> /*tokens*/, DType /*dtype*/) const {
  throw Error(ErrorCode::kUnsupported, cat(facts_.family, " models have no encoder"));
}

LanguageModel::Ahead LanguageModel::look_ahead(const ForwardBatch&, const Tensor&, const KvCache&) const {
  throw Error(ErrorCode::kUnsupported, cat(facts_.family, " was loaded without a layer that predicts further tokens"));
}

Tensor LanguageModel::project_to_vocab(const Tensor& /*rows*/, bool /*final_norm*/) const {
  throw Error(ErrorCode::kUnsupported, cat(facts_.family, " models have no projection to the vocabulary"));
}

StreamReader LanguageModel::stream_reader() const {
  throw Error(ErrorCode::kUnsupported, cat(facts_.family, " models do not show how they read the residual stream"));
}

AdapterSlots& LanguageModel::adapters() const {
  throw Error(ErrorCode::kUnsupported, cat("models of the family '", facts_.family, "' take no adapters"));
}

}  // namespace wick
