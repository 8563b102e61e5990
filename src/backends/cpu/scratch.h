#pragma once

#include <cstddef>

namespace wick::cpu {

// Work memory of kernels: one growing, 64-byte aligned buffer per thread and slot, kept for the next call, so that a
// steady loop allocates nothing. A slot's contents last until the same thread asks for the slot again.
enum class ScratchSlot { kRows, kColumns, kPartial, kOutput, kAttention, kCount };

// At least `bytes` bytes. Throws Error(kOutOfMemory).
std::byte* scratch(ScratchSlot slot, size_t bytes);

template <typename T>
T* scratch_of(ScratchSlot slot, size_t count) {
  return reinterpret_cast<T*>(scratch(slot, count * sizeof(T)));
}

}  // namespace wick::cpu
