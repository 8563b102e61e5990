#include "ops/device_graph.h"

#include "ops/kernel_table.h"

namespace wick {

bool has_graphs(Device device) { return device.kernels().record_graph != nullptr; }

std::unique_ptr<DeviceGraph> record_graph(Device device, FunctionRef<void()> body) {
  const auto record = device.kernels().record_graph;
  return record ? record(device, body) : nullptr;
}

}  // namespace wick
