#include "tensor/storage.h"

#include <cstdlib>
#include <new>

#include "base/checked.h"
#include "base/error.h"
#include "base/text.h"
#include "tensor/arena.h"
#include "tensor/reuse_pool.h"

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace wick {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kMaxBytes = size_t{1} << (8 * sizeof(size_t) - 2);

Error out_of_memory(uint64_t bytes, Device device) {
  return {ErrorCode::kOutOfMemory, cat("out of memory: ", bytes, " bytes on ", device)};
}

void destroy_heap(Storage* storage) {
  storage->~Storage();
  std::free(storage);
}

void destroy_device(Storage* storage) {
  device_memory(storage->device()).release(storage->device(), storage->data(), storage->bytes());
  delete storage;
}

}  // namespace

// Large blocks are aligned to 2 MiB and marked for huge pages: a fresh 64 MiB tensor then costs 32 page faults.
// The rest that does not fill a huge page keeps small ones: 64 bytes of header would else cost a 4 MiB tensor 2 MiB.
std::byte* allocate_host(size_t bytes) {
  const bool huge = bytes >= 2 * kHugePage;
  const size_t alignment = huge ? kHugePage : kStorageAlignment;
  if (bytes > kMaxBytes) throw out_of_memory(bytes, Device::cpu());
  const size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, rounded);
  if (!memory) throw out_of_memory(bytes, Device::cpu());
#if defined(__linux__)
  if (huge) {
    const size_t whole = bytes / kHugePage * kHugePage;
    madvise(memory, whole, MADV_HUGEPAGE);
    if (rounded > whole) madvise(static_cast<std::byte*>(memory) + whole, rounded - whole, MADV_NOHUGEPAGE);
  }
#endif
  return static_cast<std::byte*>(memory);
}

Ref<Storage> Storage::allocate(uint64_t bytes, Device device) {
  if (bytes > kMaxBytes) throw out_of_memory(bytes, device);
  if (!device.is_host()) {
    auto* data = static_cast<std::byte*>(device_memory(device).allocate(device, bytes));
    return Ref<Storage>::adopt(new Storage(data, bytes, device, destroy_device));
  }
  if (Arena* arena = Arena::current()) return arena->allocate(bytes, device);
  if (ReusePool* pool = ReusePool::current()) {
    ReuseBlock* block = pool->take(sizeof(Storage) + bytes);
    std::byte* place = ReusePool::bytes_of(block);
    auto* storage = new (place) Storage(place + sizeof(Storage), bytes, device, [](Storage* self) {
      auto* home = static_cast<ReuseBlock*>(self->context_);
      self->~Storage();
      ReusePool::give_back(home);
    });
    storage->context_ = block;
    return Ref<Storage>::adopt(storage);
  }
  std::byte* memory = allocate_host(sizeof(Storage) + bytes);
  return Ref<Storage>::adopt(new (memory) Storage(memory + sizeof(Storage), bytes, device, destroy_heap));
}

Ref<Storage> Storage::borrow(const std::byte* data, size_t bytes, std::shared_ptr<const void> owner) {
  using Owner = std::shared_ptr<const void>;
  auto* storage = new Storage(const_cast<std::byte*>(data), bytes, Device::cpu(), [](Storage* self) {
    delete static_cast<Owner*>(self->context_);
    delete self;
  });
  storage->read_only_ = true;
  storage->context_ = new Owner(std::move(owner));
  return Ref<Storage>::adopt(storage);
}

}  // namespace wick
