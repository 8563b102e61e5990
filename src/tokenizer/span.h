#pragma once

#include <cstdint>

namespace wick {

// Bytes [begin, end) of a text.
struct Span {
  uint32_t begin = 0;
  uint32_t end = 0;
  uint32_t size() const { return end - begin; }
  bool operator==(const Span&) const = default;
};

}  // namespace wick
