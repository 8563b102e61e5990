#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "grammar/automaton/automaton.h"

namespace wick::grammar {

using FrameId = uint32_t;

struct ReturnTo {
  uint32_t position = 0;
  FrameId frame = 0;
  bool operator==(const ReturnTo&) const = default;
  bool operator<(const ReturnTo& o) const { return std::tie(position, frame) < std::tie(o.position, o.frame); }
};

// All the ways in which what called the current rule can go on. Stacks that differ share their common parts, so an
// ambiguous grammar needs as many frames as it has calls, not as many as it has parses.
struct Frame {
  bool is_outermost = false;  // when the rule is complete, so is the text
  int depth = 0;              // calls open, the longest way
  std::vector<ReturnTo> returns;
  MarkSet marks;  // of the calls that were made
};

// Frames by number; equal frames have equal numbers. Not thread-safe. References stay valid.
class FrameTable {
 public:
  static constexpr FrameId kOutermost = 0;

  FrameTable();

  const Frame& operator[](FrameId id) const { return frames_[id]; }
  // `returns` in any order, with duplicates; sorts it. Throws Error(kUnsupported) when there are too many.
  FrameId intern(bool is_outermost, std::vector<ReturnTo>& returns, const MarkSet& marks = {});
  FrameId unite(FrameId a, FrameId b);  // of equal marks
  FrameId with_marks(FrameId id, const MarkSet& more);
  size_t bytes() const { return bytes_; }

 private:
  std::deque<Frame> frames_;
  std::unordered_multimap<uint64_t, FrameId> by_hash_;
  size_t bytes_ = 0;
};

// Mixes a value into a hash.
inline uint64_t mix_hash(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
  return hash ^ (hash >> 29);
}

}  // namespace wick::grammar
