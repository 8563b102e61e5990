#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace wick {

// Patches of a picture, in rows and columns.
struct GridSize {
  int64_t rows = 0, columns = 0;

  int64_t count() const { return rows * columns; }
  bool operator==(const GridSize&) const = default;
};

// Pixels [pictures, channels, height, width] as patches [pictures * rows * columns, channels * side * side], in the
// order in which a convolution's weight has them. Height and width are multiples of `side`.
Tensor patches_of(const Tensor& pixels, int64_t side);

// How a learned table of positions is brought to another grid.
enum class GridResize : uint8_t {
  kNone,  // it is not
  kBicubic,
  kBicubicAntialiased,
  kBilinearAntialiased,
  kBilinearCorners,  // corners on corners
};

// table f32 [from.count(), width] as f32 [to.count(), width], both row by row.
Tensor resize_grid(const Tensor& table, GridSize from, GridSize to, GridResize how);

// Rows [pictures * grid.count(), width] in the order of their grid, joined by blocks of side x side, each row by row:
// [pictures * count / side^2, side^2 * width].
Tensor join_blocks(const Tensor& rows, GridSize grid, int64_t side);

// For each place in the order of blocks of side x side, its place in the order of the grid: i64 [count], on the host.
Tensor block_order(GridSize grid, int64_t side);

}  // namespace wick
