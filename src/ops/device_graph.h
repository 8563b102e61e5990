#pragma once

#include <memory>

#include "base/function_ref.h"
#include "tensor/device.h"

namespace wick {

// Device work that was captured once and can be started again as a whole, with the same tensors: what is read must be
// where it was, and what is written appears where it did. Tensors made while capturing keep their memory to themselves
// as long as the graph lives. Destroying it waits for nothing: the device must be done with it.
class DeviceGraph {
 public:
  virtual ~DeviceGraph() = default;
  virtual void start() = 0;
};

// Captures what `body` would start, without running it. Null where the device has no graphs. Throws
// Error(kUnsupported) when body copies to or from the host, which cannot be captured.
std::unique_ptr<DeviceGraph> capture_graph(Device device, FunctionRef<void()> body);
bool has_graphs(Device device);

}  // namespace wick
