#pragma once

#include "models/forward_batch.h"

namespace wick {

// x [rows, hidden] with the embeddings that the batch's sequences bring in their places; x itself where none do.
Tensor place_embeddings(const ForwardBatch& batch, const Tensor& x);

}  // namespace wick
