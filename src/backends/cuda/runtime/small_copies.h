#pragma once

#include <cstddef>

#include "tensor/device.h"

namespace wick::cuda {

// Copies between pinned memory and the device by a kernel, which begins while the kernels before it still run; the copy
// engine takes some microseconds to begin and to end.
bool is_small(const void* to, const void* from, size_t bytes);
void copy_small_from_host(Device device, void* to, const void* pinned, size_t bytes);
void copy_small_to_host(Device device, void* pinned, const void* from, size_t bytes);

}  // namespace wick::cuda
