#include "backends/cuda/dequantize.h"

#include <mutex>

#include "backends/cuda/kernels.h"
#include "backends/cuda/launch.cuh"
#include "backends/cuda/packed_pairs.cuh"
#include "backends/cuda/packed_weight.cuh"

namespace wick::cuda {
namespace {

template <typename Entry, size_t kCount>
const Entry* to_device_table(Device device, const std::array<Entry, kCount>& table) {
  void* copy = allocate(device, sizeof(table));
  device_memory(device).copy_from_host(device, copy, table.data(), sizeof(table));
  return static_cast<const Entry*>(copy);
}

// Copied at the first use and kept.
const Codebooks& codebooks(Device device) {
  static std::mutex mutex;
  static auto* known = new std::array<Codebooks*, 256>{};
  const std::lock_guard lock(mutex);
  Codebooks*& books = (*known)[static_cast<size_t>(device.index())];
  if (!books) {
    books = new Codebooks{to_device_table(device, kIq2xxsGrid), to_device_table(device, kIq2xsGrid),
                          to_device_table(device, kIq2sGrid),   to_device_table(device, kIq1Grid),
                          to_device_table(device, kIq3xxsGrid), to_device_table(device, kIq3sGrid)};
  }
  return *books;
}

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

// Weights i and i + 1 of a row (i even), 0 beyond k.
template <typename Block>
__device__ __forceinline__ __half2 two_weights(const uint8_t* row, int64_t i, int64_t k, int64_t weights,
                                               const Codebooks& books) {
  if (i >= k) return __floats2half2_rn(0, 0);
  if constexpr (Pairs<Block>::kKnown) {
    const uint8_t* block = row + i / weights * static_cast<int64_t>(sizeof(Block));
    const int at = static_cast<int>(i % weights);
    return Pairs<Block>::pair(block, at, Pairs<Block>::scales(block, at / Pairs<Block>::kGroup));
  } else {
    const auto* blocks = reinterpret_cast<const Block*>(row);
    const auto weight = [&](int64_t j) {
      return j < k ? packed_weight(blocks[j / weights], static_cast<int>(j % weights), books) : 0.0f;
    };
    return __floats2half2_rn(weight(i), weight(i + 1));
  }
}

template <typename Block>
void to_f16(Device device, const uint8_t* from, int64_t n, int64_t k, int64_t weights, int64_t row_bytes, int64_t ld,
            void* out) {
  auto* target = static_cast<__half2*>(out);
  const Codebooks books = codebooks(device);
  for_each_index(device, "dequantize", n * ld / 2, [=] __device__(int64_t i) {
    const int64_t row = i / (ld / 2), column = (i - row * (ld / 2)) * 2;
    target[i] = two_weights<Block>(from + row * row_bytes, column, k, weights, books);
  });
}

}  // namespace

void dequantize(const Tensor& w, const Tensor& rows, const Tensor& out) {
  if (out.numel() == 0) return;
  visit_packed(w.dtype(), [&](auto block) { to_f32<decltype(block)>(w, rows, out); });
}

void dequantize_to_f16(Device device, DType dtype, const void* weights, int64_t n, int64_t k, int64_t row_bytes,
                       int64_t ld, void* out) {
  visit_packed(dtype, [&](auto block) {
    to_f16<decltype(block)>(device, static_cast<const uint8_t*>(weights), n, k, block_weights(dtype), row_bytes, ld, out);
  });
}

}  // namespace wick::cuda
