#pragma once

#include <memory>

#include "tensor/tensor.h"

namespace wick {

// A copy to the host that is under way while the device goes on.
class HostCopy {
 public:
  virtual ~HostCopy() = default;
  virtual const void* wait() = 0;  // the bytes, as long as this lives
};

// Of a row-major tensor on a device that is not the host; it may go, or change, once this has returned. Throws
// Error(kUnsupported) when this build has no such device.
std::unique_ptr<HostCopy> start_host_copy(const Tensor& x);

}  // namespace wick
