#include "formats/packed/scale_grid.h"

#include <cmath>

#include "base/checked.h"
#include "base/error.h"
#include "base/text.h"
#include "formats/convert_weight.h"

namespace wick {

void check_matrix(std::string_view name, const Tensor& weight) {
  if (weight.rank() == 2 && weight.numel() > 0) return;
  throw Error(ErrorCode::kBadFile, cat("'", name, "' is ", weight.shape(), ", expected a matrix"));
}

ScaleGrid read_scales(std::string_view name, const Tensor& scales, int64_t out, int64_t in, int64_t group_size,
                      const std::optional<BlockShape>& block) {
  const DType dtype = scales.dtype();
  const bool floats = is_float(dtype) || dtype == DType::kF8E4M3 || dtype == DType::kF8E8M0;
  if (!floats || scales.numel() == 0) {
    throw Error(ErrorCode::kBadFile, cat("'", name, "' is ", dtype, " ", scales.shape(), ", expected scales"));
  }
  const Shape& shape = scales.shape();
  const bool matrix = shape.rank() == 2;
  ScaleGrid grid;
  if (block && matrix && shape == Shape{ceil_div(out, block->rows), ceil_div(in, block->columns)}) {
    grid.rows = block->rows;
    grid.columns = block->columns;
    grid.per_row = shape[1];
  } else if (block && scales.numel() != 1) {
    throw Error(ErrorCode::kBadFile,
                cat("'", name, "' is ", shape, ", but blocks of ", block->rows, " x ", block->columns, " weights [",
                    out, ", ", in, "] make it [", ceil_div(out, block->rows), ", ", ceil_div(in, block->columns), "]"));
  } else if (scales.numel() == 1) {
    grid.rows = out;
    grid.columns = in;
  } else if ((shape.rank() == 1 || matrix) && shape[0] == out) {
    grid.per_row = matrix ? shape[1] : 1;
    grid.columns = group_size > 0 && grid.per_row > 1 ? group_size : ceil_div(in, grid.per_row);
    if (ceil_div(in, grid.columns) != grid.per_row || (group_size <= 0 && in % grid.per_row != 0)) {
      throw Error(ErrorCode::kBadFile, cat("'", name, "' is ", shape, ", which does not part ", in, " inputs in groups",
                                           group_size > 0 ? cat(" of ", group_size) : std::string()));
    }
  } else {
    throw Error(ErrorCode::kBadFile,
                cat("'", name, "' is ", shape, ", which does not fit weights [", out, ", ", in, "]"));
  }
  grid.values = convert_tensor(scales, DType::kF32).to_vector<float>();
  for (size_t i = 0; i < grid.values.size(); ++i) {
    if (std::isfinite(grid.values[i])) continue;
    throw Error(ErrorCode::kBadFile, cat("'", name, "' has ", grid.values[i], " at index ", i));
  }
  return grid;
}

}  // namespace wick
