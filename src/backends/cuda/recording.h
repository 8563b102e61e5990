#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "backends/cuda/step_program.h"

namespace wick::cuda {

// The blocks of a graph: what is allocated while it is recorded, kept from everybody else until it goes.
class GraphMemory {
 public:
  explicit GraphMemory(Device device) : device_(device) {}
  ~GraphMemory();
  GraphMemory(const GraphMemory&) = delete;
  GraphMemory& operator=(const GraphMemory&) = delete;

 private:
  friend void* allocate_from(GraphMemory* graph, Device device, size_t bytes);
  friend void release(Device device, void* data, size_t bytes);
  Device device_;
  std::map<size_t, std::vector<void*>> free_blocks_;    // by size
  std::vector<std::pair<void*, size_t>> owned_blocks_;  // all, with their sizes
};

void* allocate_from(GraphMemory* graph, Device device, size_t bytes);

// While it lives, this thread's kernels go to `stream` and its memory comes from `memory`.
class Recording {
 public:
  // `kept`: what the graph needs besides.
  Recording(Device device, GraphMemory& memory, cudaStream_t stream, std::vector<std::unique_ptr<Scratch>>& kept);
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  void finish();  // starts what has only been noted down

 private:
  StepProgram program_;
};
bool is_recording();

// To the device while a graph is being recorded, but at once. `from` may go afterwards.
void copy_outside_graph(Device device, void* to, const void* from, size_t bytes);

}  // namespace wick::cuda
