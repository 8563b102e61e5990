#pragma once

#include <map>
#include <utility>
#include <vector>

#include "backends/cuda/runtime.h"

namespace wick::cuda {

// The blocks of a graph: what is allocated while it is recorded, kept from everybody else until it goes.
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
class Recording {
 public:
  Recording(Device device, GraphMemory& memory, cudaStream_t stream);
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
};
bool is_recording();
void refuse_recording(
    Device device);  // throws Error(kUnsupported) then: copies to and from the host cannot be recorded

}  // namespace wick::cuda
