#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

namespace wick::cpu {

template <typename T>
using SortKey = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

// An unsigned number that sorts like the value: NaN last, -0 equal to 0; inverted for descending order.
template <typename T>
SortKey<T> sort_key(T value, bool descending) {
  using Key = SortKey<T>;
  constexpr Key kTop = Key{1} << (sizeof(Key) * 8 - 1);
  Key key;
  if constexpr (std::is_floating_point_v<T>) {
    const Key bits = value == 0 ? Key{0} : std::bit_cast<Key>(value);
    key = bits & kTop ? ~bits : bits | kTop;
    key = value != value ? ~Key{0} : key;
  } else {
    key = std::is_signed_v<T> ? static_cast<Key>(value) ^ kTop : static_cast<Key>(value);
  }
  return descending ? ~key : key;
}

// A key and the place it came from; ordered by both, no two are equal and any sort is stable.
template <typename Key>
struct Entry {
  Key key;
  int64_t place;
  bool operator<(const Entry& other) const { return key < other.key || (key == other.key && place < other.place); }
};

}  // namespace wick::cpu
