// Drafts of a decoder for itself: the layer that predicts one token further (multi-token prediction).
//
// At position p it has the embedding of token p and what the last norm gave for token p - 1, and predicts token p + 1.
// Passes run it beside the model's layers, so that its keys and values lie in the cache with theirs.
#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "models/decoder/decoder.h"
#include "models/decoder/decoder_step.h"
#include "ops/index.h"
#include "ops/rearrange.h"
#include "ops/view.h"
#include "tensor/arena.h"
#include "tensor/create.h"

namespace wick {
namespace {

// For each row that of the one before: of the same sequence, from its Lookahead for its first.
Tensor rows_before(const Tensor& rows, const ForwardBatch& batch) {
  const Tensor before = empty_like(rows);
  int64_t begin = 0;
  for (const SequenceRows& of : batch.sequences) {
    const bool is_known = of.lookahead && of.lookahead->last.defined();
    copy_values(is_known ? of.lookahead->last : zeros({1, rows.dim(1)}, DType::kF32, rows.device()),
                narrow(before, 0, begin, 1));
    copy_values(narrow(rows, 0, begin, of.tokens - 1), narrow(before, 0, begin + 1, of.tokens - 1));
    begin += of.tokens;
  }
  return before;
}

void keep_rows(const Tensor& rows, const ForwardBatch& batch) {
  const ArenaPause keep;
  int64_t end = 0;
  for (const SequenceRows& of : batch.sequences) {
    end += of.tokens;
    if (!of.lookahead) continue;
    const int64_t kept = std::clamp<int64_t>(of.lookahead->kept, 1, of.tokens);
    of.lookahead->rows = narrow(rows, 0, end - kept, kept).clone();
  }
}

}  // namespace

Tensor Decoder::joined(const Tensor& embedded, const Tensor& last) const {
  return mtp_->join(concat({mtp_->embed_norm(embedded), mtp_->hidden_norm(last)}, 1));
}

Tensor Decoder::continue_and_keep(const Tensor& embedded, const ForwardBatch& batch, const DecoderStep& step,
                                  const Tensor& wanted) const {
  const Tensor x = run_layers(embedded, step, {});
  const Tensor normed = step.hooks(HookPoint::kFinalNorm, -1, final_norm_(x)).contiguous();
  keep_rows(normed, batch);
  if (!step.hooks.active()) {  // hooks are for the model's own layers
    // Of the layer's rows only keys and values are wanted; one row goes through all of it.
    const int64_t first[] = {0};
    mtp_->layer(joined(embedded, rows_before(normed, batch)), step, index_tensor(first, device_));
  }
  return logits({wanted.defined() ? take_rows(normed, wanted) : normed});
}

LanguageModel::Ahead Decoder::look_ahead(const ForwardBatch& batch, const Tensor& last, const KvCache& cache) const {
  if (!mtp_) return LanguageModel::look_ahead(batch, last, cache);
  const auto count = static_cast<int64_t>(batch.tokens.size());
  const bool one_each = std::all_of(batch.sequences.begin(), batch.sequences.end(),
                                    [](const SequenceRows& rows) { return rows.tokens == 1 && !rows.hooks; });
  if (cache.layers() != facts_.kv_layers.size()) {
    throw Error(ErrorCode::kInvalidArgument,
                cat("look_ahead: the cache has ", cache.layers(), " layers, the model ", facts_.kv_layers.size()));
  }
  if (!one_each || std::ssize(batch.sequences) != count || last.shape() != Shape({count, config_.hidden})) {
    throw Error(ErrorCode::kInvalidArgument,
                cat("look_ahead: ", count, " tokens of ", batch.sequences.size(), " sequences, rows ", last.shape()));
  }
  DecoderStep step(batch, cache, ropes_, device_);
  step.attention.query_growth = query_growth(step);
  const Tensor x = mtp_->layer(joined(embed(ids_of(batch), batch, step), last), step, {});
  const Tensor normed = mtp_->final_norm(x);
  return {logits({normed}), mtp_->passes_normed ? normed : x};
}

}  // namespace wick
