#include "backends/cpu/scratch.h"

#include <algorithm>
#include <array>
#include <new>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace wick::cpu {

namespace {

constexpr std::align_val_t kAlignment{64};

struct Buffer {
  std::byte* data = nullptr;
  size_t bytes = 0;

  ~Buffer() { ::operator delete(data, kAlignment); }
  void grow(size_t wanted) {
    ::operator delete(data, kAlignment);
    bytes = std::max(wanted, bytes + bytes / 2);
    data = static_cast<std::byte*>(::operator new(bytes, kAlignment, std::nothrow));
    if (data) return;
    const size_t failed = std::exchange(bytes, 0);
    throw Error(ErrorCode::kOutOfMemory, cat("no memory for ", failed, " bytes of kernel scratch"));
  }
};

}  // namespace

std::byte* scratch(ScratchSlot slot, size_t bytes) {
  thread_local std::array<Buffer, static_cast<size_t>(ScratchSlot::kCount)> buffers;
  Buffer& buffer = buffers[static_cast<size_t>(slot)];
  if (bytes > buffer.bytes) buffer.grow(bytes);
  return buffer.data;
}

}  // namespace wick::cpu
