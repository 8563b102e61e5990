#include "grammar/automaton/codepoint_set.h"

#include <algorithm>

namespace wick::grammar {
namespace {

int encode(uint32_t codepoint, std::array<uint8_t, 4>& out) {
  const auto tail = [&](int shift) { return static_cast<uint8_t>(0x80 | ((codepoint >> shift) & 0x3F)); };
  if (codepoint < 0x80) {
    out = {static_cast<uint8_t>(codepoint)};
    return 1;
  }
  if (codepoint < 0x800) {
    out = {static_cast<uint8_t>(0xC0 | (codepoint >> 6)), tail(0)};
    return 2;
  }
  if (codepoint < 0x10000) {
    out = {static_cast<uint8_t>(0xE0 | (codepoint >> 12)), tail(6), tail(0)};
    return 3;
  }
  out = {static_cast<uint8_t>(0xF0 | (codepoint >> 18)), tail(12), tail(6), tail(0)};
  return 4;
}

// Splits until all code points of a range share their length and each trailing byte covers either one value of the
// bits above it or all of its own.
void split(uint32_t first, uint32_t last, std::vector<Utf8Sequence>& out) {
  for (const uint32_t limit : {0x7Fu, 0x7FFu, 0xFFFFu}) {
    if (first <= limit && limit < last) {
      split(first, limit, out);
      return split(limit + 1, last, out);
    }
  }
  if (first >= 0x80) {
    for (int shift = 6; shift <= 18; shift += 6) {
      const uint32_t low = (1u << shift) - 1;
      if ((first & ~low) == (last & ~low)) continue;
      if ((first & low) != 0) {
        split(first, first | low, out);
        return split((first | low) + 1, last, out);
      }
      if ((last & low) != low) {
        split(first, (last & ~low) - 1, out);
        return split(last & ~low, last, out);
      }
    }
  }
  std::array<uint8_t, 4> from{}, to{};
  Utf8Sequence sequence;
  sequence.length = encode(first, from);
  encode(last, to);
  for (int i = 0; i < sequence.length; ++i) sequence.bytes[i] = {from[i], to[i]};
  out.push_back(sequence);
}

}  // namespace

CodepointSet::CodepointSet(std::vector<CodepointRange> ranges) {
  std::vector<CodepointRange> scalar;
  for (const auto [first, last] : ranges) {
    const CodepointRange below{first, std::min(last, 0xD7FFu)},
        above{std::max(first, 0xE000u), std::min(last, kMaxCodepoint)};
    if (below.first <= below.last) scalar.push_back(below);
    if (above.first <= above.last) scalar.push_back(above);
  }
  std::sort(scalar.begin(), scalar.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& range : scalar) {
    if (!ranges_.empty() && range.first <= ranges_.back().last + 1) {
      ranges_.back().last = std::max(ranges_.back().last, range.last);
    } else {
      ranges_.push_back(range);
    }
  }
}

bool CodepointSet::contains(uint32_t codepoint) const {
  const auto after = std::upper_bound(ranges_.begin(), ranges_.end(), codepoint,
                                      [](uint32_t value, const CodepointRange& range) { return value < range.first; });
  return after != ranges_.begin() && codepoint <= std::prev(after)->last;
}

CodepointSet CodepointSet::complement() const {
  std::vector<CodepointRange> gaps;
  uint32_t next = 0;
  for (const auto [first, last] : ranges_) {
    if (first > next) gaps.push_back({next, first - 1});
    next = last + 1;
  }
  if (next <= kMaxCodepoint) gaps.push_back({next, kMaxCodepoint});
  return CodepointSet(std::move(gaps));
}

CodepointSet CodepointSet::unite(const CodepointSet& other) const {
  std::vector<CodepointRange> both = ranges_;
  both.insert(both.end(), other.ranges_.begin(), other.ranges_.end());
  return CodepointSet(std::move(both));
}

CodepointSet CodepointSet::intersect(const CodepointSet& other) const {
  std::vector<CodepointRange> common;
  for (auto a = ranges_.begin(), b = other.ranges_.begin(); a != ranges_.end() && b != other.ranges_.end();) {
    const uint32_t first = std::max(a->first, b->first), last = std::min(a->last, b->last);
    if (first <= last) common.push_back({first, last});
    a->last < b->last ? ++a : ++b;
  }
  return CodepointSet(std::move(common));
}

std::vector<Utf8Sequence> utf8_sequences(const CodepointSet& set) {
  std::vector<Utf8Sequence> sequences;
  for (const auto [first, last] : set.ranges()) split(first, last, sequences);
  return sequences;
}

void append_utf8(std::string& out, uint32_t codepoint) {
  std::array<uint8_t, 4> bytes{};
  const int length = encode(codepoint, bytes);
  out.append(reinterpret_cast<const char*>(bytes.data()), static_cast<size_t>(length));
}

}  // namespace wick::grammar
