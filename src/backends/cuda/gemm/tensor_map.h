#pragma once

#include <cuda.h>

#include <cstdint>

#include "backends/cuda/gemm/matmul_plan.h"

// Descriptions of matrices for TMA, Hopper's copy engine, which brings boxes of them to shared memory.
namespace wick::cuda {

inline constexpr int kBoxColumns = 64;  // of 2 bytes: rows of a box are 128 bytes

// Boxes of `box_rows` rows and 64 columns of rows [rows, columns] that lie `ld` elements apart, f16 or bf16, with the
// 128-byte swizzle; what is outside reads as zero. `data` and `ld` elements are multiples of 16 bytes.
CUtensorMap map_rows(Device device, const void* data, DType dtype, int64_t rows, int64_t columns, int64_t ld,
                     int box_rows);

// A plan whose x is in the dtype of the weights, and how to fetch its matrices. Passed by value, so that a captured
// graph holds the maps.
struct MappedPlan {
  CUtensorMap x, weights[kMostJobs];
  WeightPlan plan;
  bool by_pair;  // rows of results, biases and residuals can be read and written two elements at a time
};
bool can_store_pairs(const WeightPlan& plan);
MappedPlan map_plan(Device device, const WeightPlan& plan, int x_rows, int weight_rows);

// Whether the matrices of a plan can be mapped, once its x is in the dtype of the weights.
bool fits_maps(const Runtime& use, const WeightPlan& plan);

}  // namespace wick::cuda
