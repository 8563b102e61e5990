#include "tokenizer/models/word_cache.h"

#include <atomic>

#include "tokenizer/vocabulary.h"

namespace wick {

WordCache& WordCache::of_this_thread() {
  thread_local WordCache cache;
  return cache;
}

uint32_t WordCache::new_owner() {
  static std::atomic<uint32_t> last{0};
  return ++last;
}

WordCache::Entry& WordCache::place(uint32_t owner, std::string_view word) {
  return entries_[(hash_bytes(word) + owner * 0x9E3779B1U) % kEntries];
}

}  // namespace wick
