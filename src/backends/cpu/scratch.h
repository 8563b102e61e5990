#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>

#include "base/error.h"
#include "base/text.h"

namespace wick::cpu {

// 64-byte aligned memory that grows and is never given back; kept by a thread between kernel calls, so that a steady
// loop allocates nothing. get() returns uninitialised elements that hold until the next get().
class Scratch {
 public:
  template <typename T>
  T* get(uint64_t count) {
    if (count > kMost / sizeof(T)) throw Error(ErrorCode::kOutOfMemory, cat("scratch for ", count, " elements"));
    reserve(count * sizeof(T));
    return reinterpret_cast<T*>(bytes_.get());
  }

 private:
  static constexpr size_t kAlignment = 64, kMost = std::numeric_limits<size_t>::max() / 4;

  void reserve(size_t bytes) {
    if (bytes <= size_) return;
    size_ = 0;
    bytes_.reset();
    const size_t rounded = (bytes + bytes / 4 + kAlignment - 1) / kAlignment * kAlignment;
    bytes_.reset(static_cast<std::byte*>(std::aligned_alloc(kAlignment, rounded)));
    if (!bytes_) throw Error(ErrorCode::kOutOfMemory, cat("scratch of ", rounded, " bytes cannot be allocated"));
    size_ = rounded;
  }

  struct Free {
    void operator()(std::byte* bytes) const { std::free(bytes); }
  };
  std::unique_ptr<std::byte, Free> bytes_;
  size_t size_ = 0;
};

// The calling thread's scratch for one purpose, named by Tag.
template <typename T, typename Tag>
T* scratch(uint64_t count) {
  thread_local Scratch memory;
  return memory.get<T>(count);
}

}  // namespace wick::cpu
