#include "tensor/host_copy.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <vector>

#include "backends/cuda/runtime/capture.h"
#include "backends/cuda/runtime/check.h"
#include "backends/cuda/runtime/runtime.h"
#include "backends/cuda/runtime/small_copies.h"

namespace wick {
namespace cuda {
namespace {

// Pinned memory that a copy goes to, and when it has arrived. Kept for the next one, never freed.
struct Landing {
  void* memory = nullptr;
  size_t bytes = 0;
  cudaEvent_t arrived = nullptr;
};

class Landings {
 public:
  Landing take(Device device, size_t bytes) {
    {
      const std::lock_guard lock(mutex_);
      const auto fits = [&](const Landing& landing) { return landing.bytes >= bytes; };
      const auto found = std::find_if(free_.begin(), free_.end(), fits);
      if (found != free_.end()) {
        const Landing taken = *found;
        free_.erase(found);
        return taken;
      }
    }
    Landing made;
    made.bytes = std::max<size_t>(bytes, 4096);
    check(cudaMallocHost(&made.memory, made.bytes), device, "allocate pinned memory");
    check(cudaEventCreateWithFlags(&made.arrived, cudaEventDisableTiming), device, "create event");
    return made;
  }
  void give_back(const Landing& landing) {
    const std::lock_guard lock(mutex_);
    free_.push_back(landing);
  }

 private:
  std::mutex mutex_;
  std::vector<Landing> free_;
};

Landings& landings(Device device) {
  static auto* all = new std::array<Landings, kMostDevices>{};
  return (*all)[static_cast<size_t>(device.index())];
}

class CopyUnderWay final : public HostCopy {
 public:
  CopyUnderWay(Device device, size_t bytes) : device_(device), landing_(landings(device).take(device, bytes)) {}
  ~CopyUnderWay() override {
    (void)cudaEventSynchronize(landing_.arrived);  // nobody else's bytes come there meanwhile
    landings(device_).give_back(landing_);
  }
  CopyUnderWay(const CopyUnderWay&) = delete;
  CopyUnderWay& operator=(const CopyUnderWay&) = delete;

  // At most as many bytes as it was made for.
  void start(const void* from, size_t bytes) {
    const cudaStream_t stream = runtime(device_).stream;
    if (is_small(landing_.memory, from, bytes)) {
      copy_small_to_host(device_, landing_.memory, from, bytes);
    } else {
      check(cudaMemcpyAsync(landing_.memory, from, bytes, cudaMemcpyDeviceToHost, stream), device_, "copy to host");
    }
    check(cudaEventRecord(landing_.arrived, stream), device_, "record event");
  }
  const void* wait() override {
    check(cudaEventSynchronize(landing_.arrived), device_, "copy to host");
    return landing_.memory;
  }

 private:
  Device device_;
  Landing landing_;
};

}  // namespace
}  // namespace cuda

std::unique_ptr<HostCopy> start_cuda_copy(Device device, const void* from, size_t bytes) {
  cuda::refuse_capture(device);
  auto copy = std::make_unique<cuda::CopyUnderWay>(device, bytes);
  copy->start(from, bytes);
  return copy;
}

}  // namespace wick
