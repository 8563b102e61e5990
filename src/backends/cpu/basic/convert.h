#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/dtype.h"

namespace wick::cpu {

// Converts `count` elements, `from_stride` and `to_stride` elements apart (any sign, or 0 to repeat), with the rules of
// wick::convert. Element i never depends on the others.
using ConvertFn = void (*)(const std::byte* from, int64_t from_stride, std::byte* to, int64_t to_stride, int64_t count);
ConvertFn converter(DType from, DType to);

// Results from this size on are written with stores that bypass the caches: they would not stay there anyway.
inline constexpr int64_t kStreamBytes = int64_t{32} << 20;
// Copies with such stores. Call end_stream() on the same thread before others read the result.
void stream_bytes(const void* from, void* to, size_t bytes);
void end_stream();

}  // namespace wick::cpu
