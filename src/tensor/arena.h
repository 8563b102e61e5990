#pragma once

#include <cstddef>
#include <memory>

#include "base/ref.h"
#include "tensor/storage.h"

namespace wick {

struct ArenaChunk;
struct ArenaPool;

// Scratch memory for forward passes on the host. While an ArenaScope is open on a thread, tensors made by that thread
// are carved off a chunk by moving a pointer; when the scope ends the chunk is taken back whole. A tensor that
// outlives the scope keeps its chunk alive (and out of use) until it goes: copy it with clone() outside the scope if
// it is small and to be kept long.
//
// One arena may serve several threads, each with its own scope; scopes nest. Chunks are kept for reuse, so a steady
// loop allocates nothing from the heap.
class Arena {
 public:
  explicit Arena(size_t first_chunk_bytes = size_t{1} << 20);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // The arena of this thread's innermost scope, or null.
  static Arena* current();

  size_t chunk_bytes() const;  // held by the arena, in use or free

 private:
  friend class ArenaScope;
  friend class Storage;
  Ref<Storage> allocate(size_t bytes, Device device);

  std::shared_ptr<ArenaPool> pool_;
};

class ArenaScope {
 public:
  explicit ArenaScope(Arena& arena);
  ~ArenaScope();
  ArenaScope(const ArenaScope&) = delete;
  ArenaScope& operator=(const ArenaScope&) = delete;

 private:
  friend class Arena;
  Arena* arena_;
  ArenaScope* outer_;
  ArenaChunk* chunk_ = nullptr;  // the chunk being filled; earlier, full ones hang behind it
  size_t total_bytes_ = 0;       // of this scope, to size the next scope's chunk
};

// Tensors made while this lives come from the heap even inside an ArenaScope: for values that must not pin a chunk.
class ArenaPause {
 public:
  ArenaPause();
  ~ArenaPause();
  ArenaPause(const ArenaPause&) = delete;
  ArenaPause& operator=(const ArenaPause&) = delete;

 private:
  ArenaScope* outer_;
};

}  // namespace wick
