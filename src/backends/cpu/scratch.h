#pragma once

#include <cstddef>
#include <memory>
#include <new>

namespace wick::cpu {

// Memory of the calling thread that only ever grows, so that a steady loop allocates nothing. Each Tag has its own;
// the bytes hold until the next call with the same Tag on the same thread.
template <typename Tag>
std::byte* scratch_bytes(size_t bytes) {
  struct Free {
    void operator()(std::byte* data) const { ::operator delete (data, std::align_val_t{64}); }
  };
  thread_local std::unique_ptr<std::byte, Free> data;
  thread_local size_t size = 0;
  if (bytes > size) {
    size = 0;
    data.reset();
    data.reset(static_cast<std::byte*>(::operator new (bytes, std::align_val_t{64})));
    size = bytes;
  }
  return data.get();
}

template <typename T, typename Tag>
T* scratch(size_t count) {
  return reinterpret_cast<T*>(scratch_bytes<Tag>(count * sizeof(T)));
}

}  // namespace wick::cpu
