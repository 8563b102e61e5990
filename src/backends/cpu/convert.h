#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/dtype.h"

namespace wick::cpu {

// Converts `count` elements, `from_stride` and `to_stride` elements apart (any sign, or 0 to repeat), with the rules of
// wick::convert. Element i never depends on the others.
using ConvertFn = void (*)(const std::byte* from, int64_t from_stride, std::byte* to, int64_t to_stride, int64_t count);
ConvertFn converter(DType from, DType to);

// Copies with stores that bypass the caches, for results far larger than they are. Ends with the writes visible.
void stream_bytes(const void* from, void* to, size_t bytes);
// Results from this size on are written with stream_bytes: they would not stay in the last-level cache anyway.
inline constexpr int64_t kStreamBytes = int64_t{32} << 20;

}  // namespace wick::cpu
