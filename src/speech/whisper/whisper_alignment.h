#pragma once

#include <cstdint>
#include <vector>

#include "tensor/tensor.h"

namespace wick {

// When tokens were said, from where they look: f32 [heads, rows, positions] on the host, of which the rows from `first`
// to `end` count (the others only tell what is usual). Looks are measured against what is usual at each position,
// smoothed over seven of them and averaged over the heads; the best way through in order (dynamic time warping) gives
// the position where each row begins.
std::vector<int64_t> align_rows(const Tensor& looks, int64_t first, int64_t end);

// The best way from the top left to the bottom right of costs [rows, columns], one step right, down or both at a time:
// the column where each row begins.
std::vector<int64_t> warp(const std::vector<float>& costs, int64_t rows, int64_t columns);

}  // namespace wick
