#include "models/bad_weight.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "formats/convert_weight.h"

namespace wick {
namespace {

// The index of the first number that is not finite, or -1; some rows at a time, so that large tensors need little
// memory.
int64_t first_bad(const Tensor& tensor, float* value) {
  const int64_t columns = tensor.rank() == 0 ? 1 : tensor.dim(-1);
  const int64_t rows = columns == 0 ? 0 : tensor.numel() / columns;
  const Tensor flat =
      tensor.with_layout(Layout{{rows, columns}, Layout::contiguous({rows, columns}).strides, tensor.layout().offset});
  const int64_t step = std::max<int64_t>(1, (int64_t{1} << 20) / std::max<int64_t>(columns, 1));
  for (int64_t row = 0; row < rows; row += step) {
    const Tensor part = flat.with_layout(flat.layout().narrow(0, row, std::min(step, rows - row)));
    const Tensor floats = convert_tensor(part, DType::kF32).contiguous();
    const float* values = floats.data<float>();
    const float* bad = std::find_if(values, values + floats.numel(), [](float x) { return !std::isfinite(x); });
    if (bad == values + floats.numel()) continue;
    *value = *bad;
    return row * columns + (bad - values);
  }
  return -1;
}

}  // namespace

std::string describe_bad_weight(const Checkpoint& checkpoint) {
  for (const TensorEntry& entry : checkpoint.entries()) {
    const bool numbers =
        entry.dtype && (is_float(*entry.dtype) || is_packed(*entry.dtype)) && *entry.dtype != DType::kF64;
    if (!numbers || entry.dtype == DType::kF8E8M0) continue;
    float value = 0;
    const int64_t index = first_bad(checkpoint.get(entry), &value);
    if (index >= 0) return cat("tensor '", entry.name, "' has ", value, " at index ", index);
  }
  return {};
}

}  // namespace wick
