#pragma once

#include <span>

#include "models/forward_batch.h"

namespace wick {

// Carries out the sequences' hooks on the logits [logit_rows, vocabulary] of a batch, which has fewer rows than the
// batch has tokens. `positions` are those of all tokens.
Tensor hook_logits(const ForwardBatch& batch, std::span<const int64_t> positions, const Tensor& logits);

}  // namespace wick
