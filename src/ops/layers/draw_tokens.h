#pragma once

#include "ops/layers/token_draw.h"
#include "tensor/tensor.h"

namespace wick {

// Sampling where the logits are, for devices whose memory the host cannot read.

// Whether the device draws from rows of so many logits.
bool can_draw_tokens(Device device, int64_t vocabulary);
// A token for each row of logits f32 [rows, vocabulary], which the edits change first: i32 [rows] on the device, the
// same as drawn on the host. -1 for a row with NaN or +inf, or with nothing but -inf.
Tensor draw_tokens(const Tensor& logits, const TokenDraws& draws);
// Drawn tokens i32 [rows] as ids i64 [rows] for an embedding, 0 where none was drawn.
void place_tokens(const Tensor& drawn, const Tensor& ids);

}  // namespace wick
