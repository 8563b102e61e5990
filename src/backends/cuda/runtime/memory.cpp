#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>

#include "backends/cuda/runtime/capture.h"
#include "backends/cuda/runtime/check.h"
#include "backends/cuda/runtime/runtime.h"
#include "backends/cuda/runtime/small_copies.h"
#include "base/thread_pool.h"

namespace wick {
namespace cuda {
namespace {

constexpr size_t kSlotBytes = size_t{4} << 20;
constexpr size_t kSlots = 8;
constexpr int64_t kPiece = int64_t{256} << 10;  // bytes a thread copies at a time

// Pinned memory that copies to the device pass through: the host fills one slot while others travel.
class Staging {
 public:
  explicit Staging(Device device) : device_(device) {
    check(cudaMallocHost(&memory_, kSlotBytes * kSlots), device, "allocate pinned memory");
    for (Slot& slot : slots_) {
      check(cudaEventCreateWithFlags(&slot.done, cudaEventDisableTiming), device, "create event");
    }
  }

  void to_device(std::byte* to, const std::byte* from, size_t bytes, cudaStream_t stream) {
    const std::lock_guard lock(mutex_);
    for (size_t at = 0; at < bytes; at += kSlotBytes) {
      const size_t part = std::min(kSlotBytes, bytes - at);
      std::byte* place = next_slot(part, stream);
      copy_host(place, from + at, part);
      if (is_small(to + at, place, part)) {
        copy_small_from_host(device_, to + at, place, part);
      } else {
        check(cudaMemcpyAsync(to + at, place, part, cudaMemcpyHostToDevice, stream), device_, "copy from host");
      }
    }
  }

  // Slots are filled by the device one after the other, and emptied by the host as they are full.
  void to_host(std::byte* to, const std::byte* from, size_t bytes, cudaStream_t stream) {
    const std::lock_guard lock(mutex_);
    const size_t parts = (bytes + kSlotBytes - 1) / kSlotBytes;
    const auto size_of_part = [&](size_t part) { return std::min(kSlotBytes, bytes - part * kSlotBytes); };
    std::array<std::byte*, kSlots> places{};
    std::array<cudaEvent_t, kSlots> arrived{};
    for (size_t part = 0, emptied = 0; emptied < parts;) {
      if (part < parts && part - emptied < kSlots - 1) {
        slot_used_ = kSlotBytes;  // a slot of its own, so that nobody else writes to it
        const size_t place = part % kSlots;
        places[place] = next_slot(size_of_part(part), stream);
        arrived[place] = slots_[slot_].done;
        check(cudaMemcpyAsync(places[place], from + part * kSlotBytes, size_of_part(part), cudaMemcpyDeviceToHost,
                              stream),
              device_, "copy to host");
        check(cudaEventRecord(arrived[place], stream), device_, "record event");
        ++part;
        continue;
      }
      check(cudaEventSynchronize(arrived[emptied % kSlots]), device_, "copy to host");
      copy_host(to + emptied * kSlotBytes, places[emptied % kSlots], size_of_part(emptied));
      ++emptied;
    }
    slot_used_ = kSlotBytes;  // what comes next takes a slot of its own, too
  }

 private:
  struct Slot {
    cudaEvent_t done = nullptr;
  };

  // Room for `bytes`: behind the last copy in the same slot, or in the next slot once its copies have arrived. Those of
  // a slot are marked when it is full: a mark keeps kernels on both sides of it from overlapping.
  std::byte* next_slot(size_t bytes, cudaStream_t stream) {
    const size_t rounded = (bytes + 255) / 256 * 256;
    if (slot_used_ + rounded > kSlotBytes) {
      check(cudaEventRecord(slots_[slot_].done, stream), device_, "record event");
      slot_ = (slot_ + 1) % kSlots;
      check(cudaEventSynchronize(slots_[slot_].done), device_, "wait for copy");
      slot_used_ = 0;
    }
    std::byte* place = static_cast<std::byte*>(memory_) + kSlotBytes * slot_ + slot_used_;
    slot_used_ += rounded;
    return place;
  }

  static void copy_host(std::byte* to, const std::byte* from, size_t bytes) {
    const auto size = static_cast<int64_t>(bytes);
    if (size <= kPiece) {
      std::memcpy(to, from, bytes);
      return;
    }
    parallel_for((size + kPiece - 1) / kPiece, 1, [&](int64_t begin, int64_t end) {
      const int64_t first = begin * kPiece, last = std::min(size, end * kPiece);
      std::memcpy(to + first, from + first, static_cast<size_t>(last - first));
    });
  }

  Device device_;
  void* memory_ = nullptr;
  std::mutex mutex_;
  std::array<Slot, kSlots> slots_;
  size_t slot_ = 0;
  size_t slot_used_ = 0;
};

// Never destroyed, as the runtime.
Staging& staging(Device device) {
  static std::mutex mutex;
  static auto* stagings = new std::array<Staging*, kMostDevices>{};
  const std::lock_guard lock(mutex);
  Staging*& found = (*stagings)[static_cast<size_t>(device.index())];
  if (!found) found = new Staging(device);
  return *found;
}

void copy_from_host(Device device, void* to, const void* from, size_t bytes) {
  if (bytes == 0) return;
  refuse_capture(device);
  const Runtime& use = runtime(device);
  staging(device).to_device(static_cast<std::byte*>(to), static_cast<const std::byte*>(from), bytes, use.stream);
}

void copy_to_host(Device device, void* to, const void* from, size_t bytes) {
  if (bytes == 0) return;
  refuse_capture(device);
  const Runtime& use = runtime(device);
  staging(device).to_host(static_cast<std::byte*>(to), static_cast<const std::byte*>(from), bytes, use.stream);
}

void copy_within(Device device, void* to, const void* from, size_t bytes) {
  if (bytes == 0) return;
  const Runtime& use = runtime(device);
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, use.stream), device, "copy within device");
}

}  // namespace
}  // namespace cuda

const DeviceMemory& cuda_memory() {
  static constexpr DeviceMemory kMemory = {cuda::allocate, cuda::release, cuda::copy_from_host, cuda::copy_to_host,
                                           cuda::copy_within};
  return kMemory;
}

int64_t cuda_available_memory(Device device) {
  cuda::runtime(device);
  size_t free_bytes = 0, total_bytes = 0;
  cuda::check(cudaMemGetInfo(&free_bytes, &total_bytes), device, "read memory size");
  return static_cast<int64_t>(free_bytes);
}

}  // namespace wick
