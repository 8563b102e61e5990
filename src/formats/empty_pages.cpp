#include "formats/empty_pages.h"

#include <sys/mman.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/text.h"
#include "tensor/create.h"

namespace wick {
namespace {

[[maybe_unused]] constexpr int64_t kHugePage = 2 << 20;
constexpr int64_t kLeastBytes = 1 << 17;  // below this a page's rounding would weigh

}  // namespace

Tensor empty_pages(const Shape& shape, DType dtype) {
  const int64_t weights = block_weights(dtype);
  const auto bytes = checked_mul(shape.numel() / weights, block_bytes(dtype));
  const bool whole_blocks = weights == 1 || (shape.rank() > 0 && shape.back() % weights == 0);
  if (!bytes || *bytes < kLeastBytes || !whole_blocks) return empty(shape, dtype);
  const auto size = static_cast<size_t>(*bytes);
  void* pages = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) {
    throw Error(ErrorCode::kOutOfMemory,
                cat("out of memory: a weight ", shape, " of ", dtype, " takes ", size, " bytes"));
  }
#if defined(MADV_HUGEPAGE)
  // Large pages behind the first few: a buffer that is hardly used, such as a cache of keys, then starts small.
  const auto begin = round_up(static_cast<int64_t>(reinterpret_cast<uintptr_t>(pages)) + kHugePage, kHugePage);
  const auto end = (static_cast<int64_t>(reinterpret_cast<uintptr_t>(pages)) + *bytes) / kHugePage * kHugePage;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), static_cast<size_t>(end - begin), MADV_HUGEPAGE);
#endif
  const std::shared_ptr<void> owner(pages, [size](void* address) { munmap(address, size); });
  return {Storage::borrow(static_cast<const std::byte*>(pages), size, owner), Layout::contiguous(shape), dtype};
}

}  // namespace wick
