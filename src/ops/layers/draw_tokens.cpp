#include "ops/layers/draw_tokens.h"

#include "ops/check.h"

namespace wick {

bool can_draw_tokens(Device device, int64_t vocabulary) {
  return device.kernels().draw_tokens != nullptr && vocabulary <= kMostExactWeights;
}

Tensor draw_tokens(const Tensor& logits, const TokenDraws& draws) {
  check_rank("draw_tokens", "logits", logits, 2);
  const auto kernel = find_kernel("draw_tokens", logits.device(), &KernelTable::draw_tokens);
  if (static_cast<int64_t>(draws.rows.size()) != logits.dim(0)) {
    throw Error(ErrorCode::kShape, cat("draw_tokens: ", draws.rows.size(), " draws from logits ", logits.shape()));
  }
  Tensor drawn = empty({logits.dim(0)}, DType::kI32, logits.device());
  kernel(logits.contiguous(), draws, drawn);
  return drawn;
}

void place_tokens(const Tensor& drawn, const Tensor& ids) {
  if (drawn.numel() != ids.numel()) {
    throw Error(ErrorCode::kShape, cat("place_tokens: ", drawn.shape(), " as ", ids.shape()));
  }
  find_kernel("place_tokens", drawn.device(), &KernelTable::place_tokens)(drawn, ids);
}

}  // namespace wick
