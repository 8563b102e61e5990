#pragma once

#include <map>
#include <utility>
#include <vector>

#include "backends/cuda/runtime/runtime.h"

namespace wick::cuda {

// The blocks of a graph: what is allocated while it is captured, kept from everybody else until it goes.
class GraphMemory {
 public:
  explicit GraphMemory(Device device) : device_(device) {}
  ~GraphMemory();
  GraphMemory(const GraphMemory&) = delete;
  GraphMemory& operator=(const GraphMemory&) = delete;

 private:
  friend void* allocate(Device device, size_t bytes);
  friend void release(Device device, void* data, size_t bytes);
  Device device_;
  std::map<size_t, std::vector<void*>> free_blocks_;    // by size
  std::vector<std::pair<void*, size_t>> owned_blocks_;  // all, with their sizes
};

// While it lives, this thread's kernels go to `stream` and its memory comes from `memory`.
class Capture {
 public:
  Capture(Device device, GraphMemory& memory, cudaStream_t stream);
  ~Capture();
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;
};
bool is_capturing();
void refuse_capture(Device device);  // throws Error(kUnsupported) then: copies to and from the host cannot be captured

}  // namespace wick::cuda
