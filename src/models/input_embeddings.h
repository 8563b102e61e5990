#pragma once

#include "models/forward_batch.h"

namespace wick {

// x [rows, hidden] with the embeddings that the batch's sequences bring in their places; x itself where none do.
Tensor place_embeddings(const ForwardBatch& batch, const Tensor& x);
// Throws Error(kInvalidArgument) unless every row of the batch has one.
void check_all_given(const ForwardBatch& batch);

}  // namespace wick
