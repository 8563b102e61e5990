#include "backends/cuda/gemm/tensor_map.h"

#include "backends/cuda/runtime/check.h"

namespace wick::cuda {
namespace {

// The driver's own function, asked for at run time: the program also starts where there is no driver.
using Encode = decltype(&cuTensorMapEncodeTiled);
Encode find_encode(Device device) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult state{};
#if CUDART_VERSION >= 12050
  check(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &state), device,
        "find cuTensorMapEncodeTiled");
#else
  check(cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &found, cudaEnableDefault, &state), device,
        "find cuTensorMapEncodeTiled");
#endif
  if (state != cudaDriverEntryPointSuccess || !found) {
    throw Error(ErrorCode::kDevice, cat(device, ": the driver has no cuTensorMapEncodeTiled"));
  }
  return reinterpret_cast<Encode>(found);
}

bool is_aligned(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 8 == 0; }

}  // namespace

CUtensorMap map_rows(Device device, const void* data, DType dtype, int64_t rows, int64_t columns, int64_t ld,
                     int box_rows) {
  static const Encode encode = find_encode(device);
  CUtensorMap map{};
  const cuuint64_t sizes[] = {static_cast<cuuint64_t>(columns), static_cast<cuuint64_t>(rows)};
  const cuuint64_t strides[] = {static_cast<cuuint64_t>(ld * 2)};
  const cuuint32_t box[] = {kBoxColumns, static_cast<cuuint32_t>(box_rows)}, steps[] = {1, 1};
  const auto type = dtype == DType::kF16 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16 : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  const CUresult result =
      encode(&map, type, 2, const_cast<void*>(data), sizes, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
             CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) {
    throw Error(ErrorCode::kDevice, cat(device, ": no tensor map for ", rows, " x ", columns, " elements, ", ld,
                                        " apart: error ", static_cast<int>(result)));
  }
  return map;
}

bool can_store_pairs(const WeightPlan& plan) {
  bool can = true;
  for (int i = 0; i < plan.count; ++i) {
    const WeightJob& job = plan.jobs[i];
    can &= job.n % 2 == 0 && is_aligned(job.out) && is_aligned(job.bias) && is_aligned(job.residual);
  }
  return can;
}

MappedPlan map_plan(Device device, const WeightPlan& plan, int x_rows, int weight_rows) {
  MappedPlan mapped{};
  mapped.plan = plan;
  mapped.x = map_rows(device, plan.x, plan.dtype, plan.m, plan.k, plan.k, x_rows);
  mapped.by_pair = can_store_pairs(plan);
  for (int i = 0; i < plan.count; ++i) {
    const WeightJob& job = plan.jobs[i];
    mapped.weights[i] = map_rows(device, job.weights, plan.dtype, job.n, plan.k, plan.ld, weight_rows);
  }
  return mapped;
}

bool fits_maps(const Runtime& use, const WeightPlan& plan) {
  constexpr int64_t kMost = int64_t{1} << 30;  // places in a matrix are ints
  bool fits =
      use.hopper && plan.m < kMost && plan.k < kMost && plan.k % 8 == 0 && plan.ld >= plan.k && plan.ld % 8 == 0;
  for (int i = 0; i < plan.count; ++i) fits &= plan.jobs[i].n > 0 && plan.jobs[i].n < kMost;
  return fits;
}

}  // namespace wick::cuda
