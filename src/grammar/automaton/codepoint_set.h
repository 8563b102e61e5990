#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

namespace wick::grammar {

inline constexpr uint32_t kMaxCodepoint = 0x10FFFF;

inline bool is_scalar_value(uint32_t codepoint) {
  return codepoint <= kMaxCodepoint && (codepoint < 0xD800 || codepoint > 0xDFFF);
}

struct CodepointRange {
  uint32_t first = 0, last = 0;  // both included
  bool operator==(const CodepointRange&) const = default;
};

// A set of Unicode scalar values: surrogates and what lies beyond U+10FFFF are dropped.
class CodepointSet {
 public:
  CodepointSet() = default;
  explicit CodepointSet(std::vector<CodepointRange> ranges);
  static CodepointSet all() { return CodepointSet({{0, kMaxCodepoint}}); }

  // Sorted, neither overlapping nor touching.
  const std::vector<CodepointRange>& ranges() const { return ranges_; }
  bool empty() const { return ranges_.empty(); }
  bool contains(uint32_t codepoint) const;
  bool operator==(const CodepointSet&) const = default;

  CodepointSet complement() const;
  CodepointSet unite(const CodepointSet& other) const;
  CodepointSet intersect(const CodepointSet& other) const;
  CodepointSet without(const CodepointSet& other) const { return intersect(other.complement()); }

 private:
  std::vector<CodepointRange> ranges_;
};

struct ByteRange {
  uint8_t first = 0, last = 0;  // both included
  bool operator==(const ByteRange&) const = default;
  bool operator<(const ByteRange& other) const { return std::tie(first, last) < std::tie(other.first, other.last); }
};

// Every choice of one byte from each range is the UTF-8 form of one code point.
struct Utf8Sequence {
  int length = 0;
  std::array<ByteRange, 4> bytes;
};

// The UTF-8 forms of exactly the set's members.
std::vector<Utf8Sequence> utf8_sequences(const CodepointSet& set);

void append_utf8(std::string& out, uint32_t codepoint);

}  // namespace wick::grammar
