#include "backends/cuda/runtime/runtime.h"

#include <algorithm>
#include <bit>
#include <map>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "backends/cuda/runtime/capture.h"
#include "backends/cuda/runtime/check.h"

namespace wick::cuda {
namespace {

constexpr int kCountersPerProcessor = 512;
constexpr size_t kLeast = 512, kLarge = size_t{16} << 20, kLargeStep = size_t{2} << 20;

// Sizes that blocks come in: eight to each power of two, large ones in steps of 2 MiB.
size_t rounded_size(size_t bytes) {
  if (bytes <= kLeast) return kLeast;
  const size_t step = bytes > kLarge ? kLargeStep : std::max(kLeast, std::bit_floor(bytes - 1) / 8);
  return (bytes + step - 1) / step * step;
}

struct DeviceState {
  std::once_flag started;
  Runtime runtime;
  std::mutex mutex;                                  // of what follows
  std::map<size_t, std::vector<void*>> free_blocks;  // by size
  std::unordered_map<void*, GraphMemory*> graph_blocks;
};

struct CaptureState {
  Device device;
  GraphMemory* memory = nullptr;  // null: nothing is captured
  Runtime runtime;
};
thread_local CaptureState capture;

// Never destroyed: tensors may outlive every other static.
DeviceState& state_of(Device device) {
  static auto* states = new DeviceState[kMostDevices];
  return states[device.index()];
}

void start(Device device, Runtime& runtime) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, device.index()), device, "read properties");
  check(cudaStreamCreateWithFlags(&runtime.stream, cudaStreamNonBlocking), device, "create stream");
  runtime.multiprocessors = properties.multiProcessorCount;
  runtime.shared_bytes = static_cast<int>(properties.sharedMemPerBlockOptin);
  // What the build has for this device; others run kernels of an older kind, which know neither.
  runtime.hopper = properties.major == 9 && WICK_CUDA_HOPPER;
  runtime.has_dependent_launch = properties.major >= 9 && (WICK_CUDA_MAJORS >> properties.major & 1);
  runtime.counter_count = properties.multiProcessorCount * kCountersPerProcessor;
  const size_t bytes = static_cast<size_t>(runtime.counter_count) * sizeof(int);
  check(cudaMalloc(reinterpret_cast<void**>(&runtime.counters), bytes), device, "allocate counters");
  check(cudaMemsetAsync(runtime.counters, 0, bytes, runtime.stream), device, "clear counters");
}

// Gives everything that is not in use back to the driver.
void free_cached(DeviceState& state, Device device) {
  check(cudaStreamSynchronize(state.runtime.stream), device, "wait");
  for (auto& [size, blocks] : state.free_blocks) {
    for (void* block : blocks) check(cudaFree(block), device, "free");
    blocks.clear();
  }
}

}  // namespace

const Runtime& runtime(Device device) {
  select(device);
  DeviceState& state = state_of(device);
  std::call_once(state.started, [&] { start(device, state.runtime); });
  return capture.memory && capture.device == device ? capture.runtime : state.runtime;
}

Capture::Capture(Device device, GraphMemory& memory, cudaStream_t stream) {
  capture.runtime = runtime(device);
  capture.runtime.stream = stream;
  capture.device = device;
  capture.memory = &memory;
}

Capture::~Capture() { capture.memory = nullptr; }

bool is_capturing() { return capture.memory != nullptr; }

void refuse_capture(Device device) {
  if (!is_capturing()) return;
  throw Error(ErrorCode::kUnsupported, cat(device, ": a copy to or from the host cannot be captured"));
}

// What tensors still hold of the graph's memory goes to the common blocks when they go.
GraphMemory::~GraphMemory() {
  DeviceState& state = state_of(device_);
  const std::lock_guard lock(state.mutex);
  for (const auto& [size, blocks] : free_blocks_) {
    auto& common = state.free_blocks[size];
    common.insert(common.end(), blocks.begin(), blocks.end());
  }
  for (const auto& [block, size] : owned_blocks_) state.graph_blocks.erase(block);
}

void* allocate(Device device, size_t bytes) {
  runtime(device);
  if (bytes == 0) return nullptr;
  DeviceState& state = state_of(device);
  const size_t size = rounded_size(bytes);
  const std::lock_guard lock(state.mutex);
  GraphMemory* graph = capture.memory && capture.device == device ? capture.memory : nullptr;
  auto& blocks = (graph ? graph->free_blocks_ : state.free_blocks)[size];
  if (!blocks.empty()) {
    void* block = blocks.back();
    blocks.pop_back();
    return block;
  }
  void* block = nullptr;
  cudaError_t result = cudaMalloc(&block, size);
  if (result == cudaErrorMemoryAllocation) {
    cudaGetLastError();                      // clears it
    if (!graph) free_cached(state, device);  // waits, which a capture cannot
    result = cudaMalloc(&block, size);
  }
  if (result == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    throw Error(ErrorCode::kOutOfMemory, cat("out of memory: ", bytes, " bytes on ", device));
  }
  check(result, device, "allocate");
  if (graph) {
    graph->owned_blocks_.emplace_back(block, size);
    state.graph_blocks.emplace(block, graph);
  }
  return block;
}

// Runs in destructors. Whatever still uses the block is in the stream before anything that gets it next.
void release(Device device, void* data, size_t bytes) {
  if (!data) return;
  DeviceState& state = state_of(device);
  const std::lock_guard lock(state.mutex);
  const auto owner = state.graph_blocks.find(data);
  auto& blocks = owner == state.graph_blocks.end() ? state.free_blocks : owner->second->free_blocks_;
  blocks[rounded_size(bytes)].push_back(data);
}

}  // namespace wick::cuda
