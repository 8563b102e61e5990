#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "base/large_pages.h"

namespace wick {

// Bytes that resize() leaves as they are, in large pages where there are many: a photo is 36 MB, and clearing and
// mapping that in small pages takes half as long as decoding it.
template <typename T>
struct PixelAllocator {
  using value_type = T;
  template <typename U>
  struct rebind {  // NOLINT(readability-identifier-naming): the standard asks for it
    using other = PixelAllocator<U>;
  };
  PixelAllocator() = default;
  template <typename U>
  PixelAllocator(const PixelAllocator<U>&) {}  // NOLINT: as the standard's

  T* allocate(size_t count) {
    const size_t bytes = count * sizeof(T);
    if (bytes < 2 * kLargePage) return static_cast<T*>(::operator new(bytes));
    void* memory = ::operator new(bytes, std::align_val_t(kLargePage));
    advise_large_pages({static_cast<std::byte*>(memory), bytes});
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, size_t count) {
    if (count * sizeof(T) < 2 * kLargePage) {
      ::operator delete(memory);
    } else {
      ::operator delete(memory, std::align_val_t(kLargePage));
    }
  }
  template <typename U>
  void construct(U* at) {
    ::new (static_cast<void*>(at)) U;
  }
  template <typename U, typename... Args>
  void construct(U* at, Args&&... args) {
    ::new (static_cast<void*>(at)) U(std::forward<Args>(args)...);
  }
  friend bool operator==(const PixelAllocator&, const PixelAllocator&) { return true; }

 private:
  static constexpr size_t kLargePage = size_t{2} << 20;
};

using Pixels = std::vector<uint8_t, PixelAllocator<uint8_t>>;

}  // namespace wick
