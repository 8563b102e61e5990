#pragma once

#include <cstdint>

namespace wick {

// Sums in an order that depends on `count` alone.
float dot(const float* a, const float* b, int64_t count);

// out[row] = dot(matrix row, x): matrix [rows, columns], row-major.
void matrix_times_vector(const float* matrix, const float* x, int64_t rows, int64_t columns, float* out);

}  // namespace wick
