#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "tensor/device.h"

namespace wick::cuda {

inline constexpr int kMostDevices = 256;  // what Device can name

// What Wick holds of a device. All work of a device goes through one stream, in order: memory that one kernel is done
// with may be handed to the next one at once, from whichever thread.
struct Runtime {
  cudaStream_t stream = nullptr;
  int multiprocessors = 0;
  int shared_bytes = 0;               // that a block may ask for
  bool hopper = false;                // kernels for the instructions of compute capability 9.0a are there for it
  bool has_dependent_launch = false;  // programmatic dependent launch
  // Zeros that a kernel may count with as long as it leaves zeros behind.
  int* counters = nullptr;
  int counter_count = 0;
};

// The device's runtime, made at its first use; the calling thread then works on that device. Throws Error(kDevice).
const Runtime& runtime(Device device);

// Memory of the device, kept for reuse when given back. Throws Error(kOutOfMemory).
void* allocate(Device device, size_t bytes);
void release(Device device, void* data, size_t bytes);  // never throws

// Memory for the time of one kernel or a few.
class Scratch {
 public:
  Scratch(Device device, size_t bytes) : device_(device), bytes_(bytes), data_(allocate(device, bytes)) {}
  ~Scratch() { release(device_, data_, bytes_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  template <typename T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  Device device_;
  size_t bytes_;
  void* data_;
};

}  // namespace wick::cuda
