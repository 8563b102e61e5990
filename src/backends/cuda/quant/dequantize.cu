#include "backends/cuda/quant/dequantize.h"

#include <bit>

#include "backends/cuda/quant/packed_weight.cuh"
#include "backends/cuda/runtime/kernels.h"
#include "backends/cuda/runtime/launch.cuh"

namespace wick::cuda {
namespace {

template <typename Block>
void to_f32(const Tensor& w, const Tensor& rows, const Tensor& out) {
  const int64_t k = w.dim(1), weights = block_weights(w.dtype()), row_bytes = bytes_of(w.dtype(), w.strides()[0]);
  const auto* from = data_of<const uint8_t>(w);
  const auto* places = data_or_null<const int64_t>(rows);
  const int64_t place_step = rows.defined() ? rows.strides()[0] : 0;
  auto* target = data_of<float>(out);
  const Codebooks books = codebooks(w.device());
  for_each_index(w.device(), "dequantize", out.numel(), [=] __device__(int64_t i) {
    const int64_t row = i / k, column = i - row * k;
    const auto* blocks = reinterpret_cast<const Block*>(from + (places ? places[row * place_step] : row) * row_bytes);
    target[i] = packed_weight(blocks[column / weights], static_cast<int>(column % weights), books);
  });
}

// A thread makes four neighbours of a row; blocks of the grid's second dimension take rows by turns. Blocks hold
// 2^shift weights.
template <typename Block>
__global__ void __launch_bounds__(kThreads)
    to_f16_kernel(const uint8_t* from, int64_t n, int k, int shift, int64_t row_bytes, int64_t ld, __half2* out,
                  Codebooks books) {
  const int64_t column = (int64_t{blockIdx.x} * kThreads + threadIdx.x) * 4;
  if (column >= ld) return;
  for (int64_t row = blockIdx.y; row < n; row += gridDim.y) {
    const auto* blocks = reinterpret_cast<const Block*>(from + row * row_bytes);
    const auto weight = [&](int64_t i) {
      return i < k ? packed_weight(blocks[i >> shift], static_cast<int>(i & ((1 << shift) - 1)), books) : 0.0f;
    };
    __half2* to = out + (row * ld + column) / 2;
    to[0] = __floats2half2_rn(weight(column), weight(column + 1));
    to[1] = __floats2half2_rn(weight(column + 2), weight(column + 3));
  }
}

template <typename Block>
void to_f16(Device device, const uint8_t* from, int64_t n, int64_t k, int64_t weights, int64_t row_bytes, int64_t ld,
            void* out) {
  const Runtime& use = runtime(device);
  const dim3 grid(blocks_for(ld / 4), static_cast<unsigned>(std::min<int64_t>(n, 65535)));
  to_f16_kernel<Block><<<grid, kThreads, 0, use.stream>>>(from, n, static_cast<int>(k),
                                                          std::countr_zero(static_cast<uint64_t>(weights)), row_bytes,
                                                          ld, static_cast<__half2*>(out), codebooks(device));
  check_launch(device, "dequantize");
}

}  // namespace

void dequantize(const Tensor& w, const Tensor& rows, const Tensor& out) {
  if (out.numel() == 0) return;
  visit_packed(w.dtype(), [&](auto block) { to_f32<decltype(block)>(w, rows, out); });
}

void dequantize_to_f16(Device device, DType dtype, const void* weights, int64_t n, int64_t k, int64_t row_bytes,
                       int64_t ld, void* out) {
  visit_packed(dtype, [&](auto block) {
    to_f16<decltype(block)>(device, static_cast<const uint8_t*>(weights), n, k, block_weights(dtype), row_bytes, ld,
                            out);
  });
}

}  // namespace wick::cuda
