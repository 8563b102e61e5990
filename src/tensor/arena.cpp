#include "tensor/arena.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <new>

namespace wick {

std::byte* allocate_host(size_t bytes);  // storage.cpp

// One block of scratch memory; the bytes follow this header. `users` counts the scope that fills it plus the storages
// carved from it; whoever brings it to zero puts the chunk back into the pool.
struct alignas(kStorageAlignment) ArenaChunk {
  std::shared_ptr<ArenaPool> pool;
  std::atomic<int64_t> users{0};
  size_t capacity = 0;
  size_t used = 0;
  ArenaChunk* next = nullptr;  // in the pool's free list, or behind the scope's current chunk

  std::byte* bytes() { return reinterpret_cast<std::byte*>(this) + sizeof(ArenaChunk); }
};

struct ArenaPool {
  std::mutex mutex;
  ArenaChunk* free = nullptr;
  size_t held_bytes = 0;
  size_t next_chunk_bytes = 0;
  bool closed = false;  // the Arena is gone: chunks are freed instead of kept
};

namespace {

thread_local ArenaScope* current_scope = nullptr;

void free_chunk(ArenaChunk* chunk) {
  chunk->~ArenaChunk();
  std::free(chunk);
}

// The smallest free chunk that fits, else a new one.
ArenaChunk* take_chunk(const std::shared_ptr<ArenaPool>& pool, size_t bytes) {
  ArenaChunk* chunk = nullptr;
  size_t capacity = 0;
  {
    const std::lock_guard lock(pool->mutex);
    ArenaChunk** best = nullptr;
    for (ArenaChunk** link = &pool->free; *link; link = &(*link)->next) {
      if ((*link)->capacity >= bytes && (!best || (*link)->capacity < (*best)->capacity)) best = link;
    }
    if (best) {
      chunk = *best;
      *best = chunk->next;
    } else {
      capacity = std::max(bytes, pool->next_chunk_bytes);
    }
  }
  if (!chunk) {
    chunk = new (allocate_host(sizeof(ArenaChunk) + capacity)) ArenaChunk();
    chunk->capacity = capacity;
    const std::lock_guard lock(pool->mutex);
    pool->held_bytes += capacity;
  }
  chunk->pool = pool;
  chunk->users.store(1, std::memory_order_relaxed);
  chunk->used = 0;
  chunk->next = nullptr;
  return chunk;
}

void drop_user(ArenaChunk* chunk) {
  if (chunk->users.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  const std::shared_ptr<ArenaPool> pool = std::move(chunk->pool);
  const std::lock_guard lock(pool->mutex);
  // Chunks smaller than what scopes need by now are given back: the next scope then gets one chunk that fits all.
  if (pool->closed || chunk->capacity < pool->next_chunk_bytes) {
    pool->held_bytes -= chunk->capacity;
    free_chunk(chunk);
  } else {
    chunk->next = pool->free;
    pool->free = chunk;
  }
}

}  // namespace

Arena::Arena(size_t first_chunk_bytes) : pool_(std::make_shared<ArenaPool>()) {
  pool_->next_chunk_bytes = std::max<size_t>(first_chunk_bytes, 4096);
}

Arena::~Arena() {
  const std::lock_guard lock(pool_->mutex);
  pool_->closed = true;
  while (ArenaChunk* chunk = pool_->free) {
    pool_->free = chunk->next;
    free_chunk(chunk);
  }
}

Arena* Arena::current() { return current_scope ? current_scope->arena_ : nullptr; }

size_t Arena::chunk_bytes() const {
  const std::lock_guard lock(pool_->mutex);
  return pool_->held_bytes;
}

Ref<Storage> Arena::allocate(size_t bytes, Device device) {
  ArenaScope& scope = *current_scope;
  const size_t need = sizeof(Storage) + (bytes + kStorageAlignment - 1) / kStorageAlignment * kStorageAlignment;
  if (!scope.chunk_ || scope.chunk_->capacity - scope.chunk_->used < need) {
    ArenaChunk* chunk = take_chunk(pool_, need);
    chunk->next = scope.chunk_;
    scope.chunk_ = chunk;
  }
  ArenaChunk* chunk = scope.chunk_;
  std::byte* memory = chunk->bytes() + chunk->used;
  chunk->used += need;
  scope.total_bytes_ += need;
  chunk->users.fetch_add(1, std::memory_order_relaxed);
  auto* storage = new (memory) Storage(memory + sizeof(Storage), bytes, device, [](Storage* self) {
    auto* home = static_cast<ArenaChunk*>(self->context_);
    self->~Storage();
    drop_user(home);
  });
  storage->context_ = chunk;
  return Ref<Storage>::adopt(storage);
}

ArenaScope::ArenaScope(Arena& arena) : arena_(&arena), outer_(current_scope) { current_scope = this; }

ArenaScope::~ArenaScope() {
  current_scope = outer_;
  if (chunk_ && chunk_->next) {
    const std::lock_guard lock(arena_->pool_->mutex);
    arena_->pool_->next_chunk_bytes = std::max(arena_->pool_->next_chunk_bytes, total_bytes_ + total_bytes_ / 8);
  }
  while (ArenaChunk* chunk = chunk_) {
    chunk_ = chunk->next;
    drop_user(chunk);
  }
}

ArenaPause::ArenaPause() : outer_(current_scope) { current_scope = nullptr; }
ArenaPause::~ArenaPause() { current_scope = outer_; }

}  // namespace wick
