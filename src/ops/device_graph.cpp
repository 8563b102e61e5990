#include "ops/device_graph.h"

#include "ops/kernel_table.h"

namespace wick {

bool has_graphs(Device device) { return device.kernels().capture_graph != nullptr; }

std::unique_ptr<DeviceGraph> capture_graph(Device device, FunctionRef<void()> body) {
  const auto capture = device.kernels().capture_graph;
  return capture ? capture(device, body) : nullptr;
}

}  // namespace wick
