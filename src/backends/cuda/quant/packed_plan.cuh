#pragma once

#include "backends/cuda/quant/packed_input.cuh"

// Products with packed weights of formats that have Codes. Activations are quantised to 8 bits; codes are multiplied
// with codes and added up as whole numbers, which are exact in any order, and become one number for each super-block of
// a row, or each group of those by 32. These are added up in order within a part of k, and the parts in order: a row
// has the same bits in every kernel.
namespace wick::cuda {

// Parts of k are whole super-blocks.
__host__ __device__ __forceinline__ int super_blocks_of(int64_t k) {
  return static_cast<int>((k + kSuperBlock - 1) / kSuperBlock);
}
__host__ __device__ __forceinline__ int super_blocks_of_part(int super_blocks) {
  return (super_blocks + kParts - 1) / kParts;
}

// Rows of x after the plan's norm or activation, as kernels want them.
struct PackedRows {
  const char* codes;   // [m, packed_columns(k)]
  const char* scales;  // [m, super_blocks], InputScales of the format
};
class ReadyRows {
 public:
  ReadyRows(Device device, const WeightPlan& plan);
  PackedRows from(int64_t row) const {
    return {codes_.as<const char>() + row * code_bytes_, scales_.as<const char>() + row * scale_bytes_};
  }

 private:
  int64_t code_bytes_, scale_bytes_;  // of a row
  Scratch codes_, scales_;
};

// The same for planes of weights: columns lie as in x, of formats by 32 in f16, and scales [super_blocks, padded_rows].
struct PlaneRows {
  PlaneRows(Device device, const WeightPlan& plan, int64_t padded_rows);
  Scratch codes, scales;
};

// In the dtype of the activations.
__device__ __forceinline__ void store_number(DType dtype, void* out, int64_t at, float value) {
  if (dtype == DType::kF32) {
    static_cast<float*>(out)[at] = value;
  } else if (dtype == DType::kF16) {
    static_cast<__half*>(out)[at] = to<__half>(value);
  } else {
    static_cast<__nv_bfloat16*>(out)[at] = to<__nv_bfloat16>(value);
  }
}
__device__ __forceinline__ void store_product(DType dtype, const WeightJob& job, int64_t token, int64_t row,
                                              float product) {
  const int64_t at = token * job.n + row;
  if (job.bias) product += job.bias[row];
  if (job.residual) product += job.residual[at];
  store_number(dtype, job.out, at, product);
}

// Up to 8 rows of x, as many as there is room for.
bool has_room_for_packed_rows(const Runtime& use, const WeightPlan& plan, int64_t rows);
void multiply_packed_rows(Device device, const WeightPlan& plan);
// More, not gated: on devices of compute capability 9 up to kMostTeamRows, elsewhere any number.
inline constexpr int kMostTeamRows = 64;
void multiply_packed_tiles(Device device, const WeightPlan& plan);
// Any number on devices of compute capability 9, best many.
void multiply_packed_hopper(Device device, const WeightPlan& plan);
// One row of x on devices of compute capability 9, where TMA can fetch whole rows: of formats by 32, and of
// those by 256.
bool fits_packed_stream(const Runtime& use, const WeightPlan& plan);
void multiply_packed_stream(Device device, const WeightPlan& plan);
bool fits_packed_row(const Runtime& use, const WeightPlan& plan);
void multiply_packed_row(Device device, const WeightPlan& plan);
// Formats without Codes: the weights in f16, once for all rows.
void multiply_unpacked(Device device, const WeightPlan& plan);

}  // namespace wick::cuda
