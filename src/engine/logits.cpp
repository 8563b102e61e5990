#include "engine/logits.h"

#include <algorithm>

#include "ops/fused_kernels.h"
#include "ops/narrow.h"
#include "tensor/create.h"

namespace wick {

Logits::Logits(Tensor logits, std::span<const int64_t> best) {
  const FusedKernels* fused = fused_kernels(logits.device());
  const int64_t limit = fused ? std::min(kMostTopLogits, logits.dim(1)) : 0;
  int64_t most = 0;
  for (const int64_t count : best) most = std::max(most, count <= limit ? count : 0);
  if (most == 0) {
    logits_ = logits.to_device(Device::cpu());
    return;
  }
  const Tensor picked = empty({logits.dim(0), 2 * most}, DType::kI32, logits.device());
  fused->top_logits(logits.contiguous(), most, picked);
  best_ = picked.to_device(Device::cpu());
  rows_.resize(best.size());
  for (size_t i = 0; i < best.size(); ++i) {
    const auto row = static_cast<int64_t>(i);
    const bool is_enough = best[i] > 0 && best[i] <= most && best_.data<int32_t>()[row * 2 * most] >= 0;
    if (!is_enough) rows_[i] = narrow(logits, 0, row, 1).to_device(Device::cpu()).contiguous();
  }
}

TokenLogits Logits::row(int64_t i) const {
  if (logits_.defined() || rows_[static_cast<size_t>(i)].defined()) {
    const Tensor& all = logits_.defined() ? logits_ : rows_[static_cast<size_t>(i)];
    const auto size = static_cast<size_t>(all.dim(1));
    return {{all.data<float>() + (logits_.defined() ? i : 0) * all.dim(1), size}, {}};
  }
  const auto count = static_cast<size_t>(best_.dim(1) / 2);
  const int32_t* tokens = best_.data<int32_t>() + i * best_.dim(1);
  return {{reinterpret_cast<const float*>(tokens + count), count}, {tokens, count}};
}

}  // namespace wick
