#include "server/heap_limits.h"

#include <cstdlib>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace wick {

void limit_heap() {
#ifdef __GLIBC__
  constexpr int kHeaps = 4;
  constexpr int kOwnPages =
      4 << 20;                    // bytes from which a block goes back alone; smaller ones, as of logits, are reused
  constexpr int kKept = 8 << 20;  // bytes that a heap may keep for later
  mallopt(M_ARENA_MAX, kHeaps);
  mallopt(M_MMAP_THRESHOLD, kOwnPages);
  mallopt(M_TRIM_THRESHOLD, kKept);
#endif
}

void return_freed_memory() {
#ifdef __GLIBC__
  constexpr size_t kJoins = 128 << 10;
  void* volatile block = std::malloc(kJoins);  // freeing one of this size cuts the end of this thread's own heap ...
  std::free(block);
  malloc_trim(0);  // ... which this leaves alone
#endif
}

}  // namespace wick
