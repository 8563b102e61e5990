#pragma once

#include <optional>

#include "models/forward_batch.h"
#include "nn/attention_map.h"
#include "nn/rope.h"

namespace wick {

// x [rows, hidden] with the embeddings that the batch's sequences bring in their places; x itself where none do.
Tensor place_embeddings(const ForwardBatch& batch, const Tensor& x);
// Throws Error(kInvalidArgument) unless every row of the batch has one.
void check_all_given(const ForwardBatch& batch);

// What is added to the stream behind layer `layer`, of the rows of a batch: [count, hidden], and which rows (i64
// [count]) those are, on the host. Empty where nothing is.
struct DeepRows {
  Tensor values, rows;
};
std::optional<DeepRows> deep_rows(const ForwardBatch& batch, size_t layer);
// For how many layers the batch's sequences bring any.
size_t deep_layers(const ForwardBatch& batch);

// The rows of a batch that see each other.
std::vector<WholeRows> whole_rows(const ForwardBatch& batch);

// Where position `index` of a sequence turns that brings these embeddings.
RopePosition rope_position(std::span<const InputEmbeddings> embeddings, int64_t index);
// Of all rows of a batch; empty where every row turns by its position.
std::vector<RopePosition> rope_positions(const ForwardBatch& batch);

}  // namespace wick
