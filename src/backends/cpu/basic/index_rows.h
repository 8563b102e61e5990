#pragma once

#include <algorithm>

#include "base/thread_pool.h"
#include "tensor/tensor.h"

namespace wick::cpu {

// One run of an indexed copy or sum: element j pairs side[j * side_step] with
// target[index[j * index_step] * reach + j * target_step].
struct IndexRun {
  int64_t target, side, index;  // offsets of the first elements
  int64_t target_step, side_step, index_step;
  int64_t reach;  // stride of the target along the indexed dimension
  int64_t count;
};

enum : int { kTarget, kSide, kIndex };

// The strides of target, side and index over the index's shape; the target's along `dim` comes in through the index.
inline std::array<Strides, 3> index_strides(const Tensor& target, const Tensor& side, const Strides& index, int dim) {
  std::array<Strides, 3> strides = {target.strides(), side.strides(), index};
  strides[kTarget][dim] = 0;
  return strides;
}

inline constexpr int64_t kIndexPiece = 16384, kIndexRun = 4096;

// Calls body(run) for runs that cover the shape, in any order and from several threads: for reading from the target.
template <typename Body>
void for_each_free_run(const Shape& shape, const std::array<Strides, 3>& strides, int64_t reach, const Body& body) {
  if (shape.numel() == 0) return;
  const auto nest = merge_loops<3>(shape, strides);
  const int64_t row = nest.inner_size(), tiles = (row + kIndexRun - 1) / kIndexRun;
  const auto step = [&](int operand) { return nest.rank ? nest.inner_stride(operand) : 0; };
  const int64_t grain = std::max<int64_t>(1, kIndexPiece / std::min(row, kIndexRun));
  parallel_for(nest.outer_count() * tiles, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto at = nest.offsets(i / tiles);
      const int64_t first = i % tiles * kIndexRun;
      body(IndexRun{at[kTarget] + first * step(kTarget), at[kSide] + first * step(kSide),
                    at[kIndex] + first * step(kIndex), step(kTarget), step(kSide), step(kIndex), reach,
                    std::min(kIndexRun, row - first)});
    }
  });
}

// The same for writing: elements that may meet at one place of the target (they differ only along `dim`) are visited by
// one thread in the order of `dim`.
template <typename Body>
void for_each_ordered_run(const Shape& shape, const std::array<Strides, 3>& strides, int dim, int64_t reach,
                          const Body& body) {
  if (shape.numel() == 0) return;
  const int64_t size = shape[dim];
  std::array<Strides, 3> others{};
  int64_t behind = 1;
  for (int d = 0, slot = 0; d < shape.rank(); ++d) {
    if (d > dim) behind *= shape[d];
    if (d == dim) continue;
    for (int o = 0; o < 3; ++o) others[o][slot] = strides[o][d];
    ++slot;
  }
  auto nest = merge_loops<3>(shape.without(dim), others);
  if (behind == 1) {  // nothing inside: a run is a line along `dim`
    nest.sizes[nest.rank++] = 1;
    parallel_for(nest.outer_count(), std::max<int64_t>(1, kIndexPiece / size), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const auto at = nest.offsets(i);
        body(IndexRun{at[kTarget], at[kSide], at[kIndex], 0, strides[kSide][dim], strides[kIndex][dim], reach, size});
      }
    });
    return;
  }
  const int64_t row = nest.inner_size(), tile = std::min<int64_t>(row, 512), tiles = (row + tile - 1) / tile;
  const auto step = [&](int operand) { return nest.inner_stride(operand); };
  const int64_t grain = std::max<int64_t>(1, kIndexPiece / (tile * size));
  parallel_for(nest.outer_count() * tiles, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto at = nest.offsets(i / tiles);
      const int64_t first = i % tiles * tile;
      for (int64_t k = 0; k < size; ++k) {
        body(IndexRun{at[kTarget] + first * step(kTarget), at[kSide] + first * step(kSide) + k * strides[kSide][dim],
                      at[kIndex] + first * step(kIndex) + k * strides[kIndex][dim], step(kTarget), step(kSide),
                      step(kIndex), reach, std::min(tile, row - first)});
      }
    }
  });
}

// side = target[index]
template <typename T>
void take_run(const T* target, T* side, const int64_t* index, const IndexRun& run) {
  const T* from = target + run.target;
  T* to = side + run.side;
  const int64_t* at = index + run.index;
  if (run.index_step == 0 && run.target_step == 1 && run.side_step == 1) {
    std::copy_n(from + *at * run.reach, run.count, to);
    return;
  }
  for (int64_t j = 0; j < run.count; ++j) {
    to[j * run.side_step] = from[at[j * run.index_step] * run.reach + j * run.target_step];
  }
}

// target[index] = side
template <typename T>
void put_run(T* target, const T* side, const int64_t* index, const IndexRun& run) {
  T* to = target + run.target;
  const T* from = side + run.side;
  const int64_t* at = index + run.index;
  if (run.index_step == 0 && run.target_step == 1 && run.side_step == 1) {
    std::copy_n(from, run.count, to + *at * run.reach);
    return;
  }
  for (int64_t j = 0; j < run.count; ++j) {
    to[at[j * run.index_step] * run.reach + j * run.target_step] = from[j * run.side_step];
  }
}

// Element sums: halves in f32, integers wrapping around.
template <typename T>
T added(T a, T b) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    return T(static_cast<float>(a) + static_cast<float>(b));
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  } else {
    return a + b;
  }
}

// target[index] += side
template <typename T>
void add_run(T* target, const T* side, const int64_t* index, const IndexRun& run) {
  T* to = target + run.target;
  const T* from = side + run.side;
  const int64_t* at = index + run.index;
  if (run.index_step == 0 && run.target_step == 1 && run.side_step == 1) {
    to += *at * run.reach;
    for (int64_t j = 0; j < run.count; ++j) to[j] = added(to[j], from[j]);
    return;
  }
  for (int64_t j = 0; j < run.count; ++j) {
    T& place = to[at[j * run.index_step] * run.reach + j * run.target_step];
    place = added(place, from[j * run.side_step]);
  }
}

// Calls body with a value of an unsigned type as wide as the dtype's elements: for moving them unseen.
template <typename Body>
void visit_width(DType dtype, const Body& body) {
  switch (size_of(dtype)) {
    case 1: return body(uint8_t{});
    case 2: return body(uint16_t{});
    case 4: return body(uint32_t{});
    default: return body(uint64_t{});
  }
}

template <typename T>
T* elements(const Tensor& x) {
  return reinterpret_cast<T*>(x.raw());
}

}  // namespace wick::cpu
