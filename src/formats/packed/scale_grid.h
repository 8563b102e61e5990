#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "tensor/tensor.h"

namespace wick {

// The scales of a weight [out, in], one for every rectangle of `rows` x `columns` weights.
struct ScaleGrid {
  int64_t rows = 1, columns = 1;
  int64_t per_row = 1;  // along the inputs
  std::vector<float> values;

  float at(int64_t output, int64_t input) const { return values[output / rows * per_row + input / columns]; }
  // Whether runs of `block` inputs share a scale and rows end with a whole run.
  bool fits(int64_t in, int64_t block) const { return in % block == 0 && (per_row == 1 || columns % block == 0); }
};

struct BlockShape {
  int64_t rows = 0, columns = 0;
};

// From floats [], [1], [out], [out, 1], [out, groups] with groups of `group_size` inputs (0: equal ones), or
// [out / block.rows, in / block.columns], rounded up. `name` is the tensor's, for messages. Throws Error(kBadFile) when
// the shape is none of these or a scale is not finite.
ScaleGrid read_scales(std::string_view name, const Tensor& scales, int64_t out, int64_t in, int64_t group_size,
                      const std::optional<BlockShape>& block);

// Throws Error(kBadFile) unless the weight is a matrix that has rows and columns.
void check_matrix(std::string_view name, const Tensor& weight);

}  // namespace wick
