#pragma once

#include <cstdint>

#include "tensor/device.h"

namespace wick {

// Bytes that could be allocated on a device that is not the host. Throws Error(kUnsupported) when this build has no
// such device.
int64_t available_memory(Device device);

}  // namespace wick
