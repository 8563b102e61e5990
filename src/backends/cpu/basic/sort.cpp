#include <algorithm>
#include <array>
#include <utility>

#include "backends/cpu/basic/index_rows.h"
#include "backends/cpu/basic/lines.h"
#include "backends/cpu/basic/sort_keys.h"
#include "backends/cpu/kernels.h"
#include "base/thread_pool.h"

namespace wick::cpu {
namespace {

struct LineTag;
struct EntryTag;
struct SpareTag;

// Sorts by key, keeping the order of equal ones: bytes of the key from the lowest up, `spare` as second buffer.
// Returns the buffer that holds the result.
template <typename Key>
Entry<Key>* radix_sort(Entry<Key>* entries, Entry<Key>* spare, int64_t count) {
  constexpr int kBytes = sizeof(Key);
  std::array<std::array<int64_t, 256>, kBytes> starts{};
  for (int64_t i = 0; i < count; ++i) {
    for (int b = 0; b < kBytes; ++b) ++starts[b][entries[i].key >> (8 * b) & 255];
  }
  for (int b = 0; b < kBytes; ++b) {
    if (*std::max_element(starts[b].begin(), starts[b].end()) == count) continue;  // all the same
    int64_t at = 0;
    for (int64_t& start : starts[b]) at += std::exchange(start, at);
    for (int64_t i = 0; i < count; ++i) spare[starts[b][entries[i].key >> (8 * b) & 255]++] = entries[i];
    std::swap(entries, spare);
  }
  return entries;
}

template <typename T>
void fill_entries(const T* line, int64_t count, bool descending, Entry<SortKey<T>>* entries) {
  for (int64_t i = 0; i < count; ++i) entries[i] = {sort_key(line[i], descending), i};
}

// The first `wanted` entries in order, kept in a heap whose top is the worst of them. Blocks without a better key are
// passed over after one vectorised look; an equal key further on is never better.
template <typename T>
void select_few(const T* line, int64_t count, int64_t wanted, bool descending, Entry<SortKey<T>>* heap) {
  constexpr int64_t kBlock = 128;
  fill_entries(line, wanted, descending, heap);
  std::make_heap(heap, heap + wanted);
  for (int64_t i = wanted; i < count; i += kBlock) {
    const int64_t n = std::min(kBlock, count - i);
    SortKey<T> keys[kBlock];
    for (int64_t j = 0; j < n; ++j) keys[j] = sort_key(line[i + j], descending);
    const SortKey<T> worst = heap[0].key;
    unsigned better = 0;
    for (int64_t j = 0; j < n; ++j) better |= static_cast<unsigned>(keys[j] < worst);
    if (!better) continue;
    for (int64_t j = 0; j < n; ++j) {
      if (keys[j] >= heap[0].key) continue;
      std::pop_heap(heap, heap + wanted);
      heap[wanted - 1] = {keys[j], i + j};
      std::push_heap(heap, heap + wanted);
    }
  }
  std::sort_heap(heap, heap + wanted);
}

template <typename T>
const Entry<SortKey<T>>* order_line(const T* line, int64_t count, int64_t wanted, bool descending) {
  using Key = SortKey<T>;
  if (wanted == 0) return nullptr;
  if (wanted <= 1024 && wanted * 8 <= count) {
    auto* heap = scratch<Entry<Key>, EntryTag>(wanted);
    select_few(line, count, wanted, descending, heap);
    return heap;
  }
  auto* entries = scratch<Entry<Key>, EntryTag>(count);
  fill_entries(line, count, descending, entries);
  if (wanted * 4 <= count) {
    std::nth_element(entries, entries + wanted, entries + count);
    std::sort(entries, entries + wanted);
  } else if (count < 512) {
    std::sort(entries, entries + count);
  } else {
    return radix_sort(entries, scratch<Entry<Key>, SpareTag>(count), count);
  }
  return entries;
}

template <typename T>
void sort_lines(const Tensor& x, int dim, bool descending, const Tensor& values, const Tensor& indices) {
  const Lines lines(x, dim);
  const int64_t wanted = values.dim(dim);
  const Source source(x.raw(), x.dtype(), dtype_of<T>(), lines.nest());
  auto* places = elements<int64_t>(indices);
  parallel_for(lines.count(), std::max<int64_t>(1, 2048 / lines.size), [&](int64_t begin, int64_t end) {
    T* buffer = scratch<T, LineTag>(lines.size);
    for (int64_t line = begin; line < end; ++line) {
      const int64_t offset = lines.offset(line);
      const T* from = static_cast<const T*>(source.fetch(0, lines.size, buffer, offset));
      const auto* order = order_line(from, lines.size, wanted, descending);
      const int64_t start = line / lines.inner * wanted * lines.inner + line % lines.inner;
      visit_width(x.dtype(), [&](auto zero) {
        using Bits = decltype(zero);
        const Bits* in = elements<const Bits>(x) + offset;
        Bits* out = elements<Bits>(values) + start;
        for (int64_t i = 0; i < wanted; ++i) {
          out[i * lines.inner] = in[order[i].place * lines.along];
          places[start + i * lines.inner] = order[i].place;
        }
      });
    }
  });
}

void sort_any(const Tensor& x, int dim, bool descending, const Tensor& values, const Tensor& indices) {
  if (x.numel() == 0 || values.numel() == 0) return;
  visit_dtype(compute_dtype(x.dtype()), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_arithmetic_v<T>) sort_lines<T>(x, dim, descending, values, indices);
  });
}

}  // namespace

void sort(const Tensor& x, int dim, bool descending, const Tensor& values, const Tensor& indices) {
  sort_any(x, dim, descending, values, indices);
}

void topk(const Tensor& x, int dim, bool largest, const Tensor& values, const Tensor& indices) {
  sort_any(x, dim, largest, values, indices);
}

}  // namespace wick::cpu
