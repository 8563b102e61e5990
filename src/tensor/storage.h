#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/ref.h"
#include "tensor/device.h"

namespace wick {

inline constexpr size_t kStorageAlignment = 64;  // a cache line, and the widest vector

// A block of bytes shared by the tensors that view it. The header lies right before the bytes when Wick allocated
// them, so making a tensor is one allocation, or none inside an ArenaScope.
class alignas(kStorageAlignment) Storage {
 public:
  // Uninitialised bytes, from the current ArenaScope if there is one. Throws Error(kOutOfMemory).
  static Ref<Storage> allocate(uint64_t bytes, Device device);
  // Bytes that somebody else owns, e.g. a mapped file; `owner` keeps them alive. Never written to.
  static Ref<Storage> borrow(const std::byte* data, size_t bytes, std::shared_ptr<const void> owner);

  std::byte* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  Device device() const { return device_; }
  bool read_only() const { return read_only_; }

  void retain() { count_.retain(); }
  void release() {
    if (count_.release()) destroy_(this);
  }
  int use_count() const { return count_.value(); }

 private:
  friend class Arena;
  using Destroy = void (*)(Storage*);
  Storage(std::byte* data, size_t bytes, Device device, Destroy destroy)
      : data_(data), bytes_(bytes), device_(device), destroy_(destroy) {}

  std::byte* data_;
  size_t bytes_;
  RefCount count_;
  Device device_;
  bool read_only_ = false;
  Destroy destroy_;
  void* context_ = nullptr;  // arena: the chunk; borrowed: the owner
};

}  // namespace wick
