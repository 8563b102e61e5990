#include "speech/text_compression.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <queue>
#include <span>
#include <unordered_map>
#include <vector>

namespace wick {
namespace {

constexpr size_t kShortest = 3, kLongest = 258, kFarthest = 32768;
constexpr size_t kMostTried = 128;     // earlier places, for each match
constexpr double kFrameBytes = 6;      // zlib's header and checksum
constexpr double kLengthCodeBits = 7;  // that describe a code of the block's own, for each symbol in use, about

struct Match {
  size_t length = 0, distance = 0;
};

// Places of three letters, latest last.
class Places {
 public:
  explicit Places(std::string_view text) : text_(text) {}
  void add(size_t at) {
    if (at + kShortest <= text_.size()) places_[key(at)].push_back(at);
  }
  Match longest(size_t at) const {
    Match best;
    if (at + kShortest > text_.size()) return best;
    const auto found = places_.find(key(at));
    if (found == places_.end()) return best;
    const std::vector<size_t>& earlier = found->second;
    const size_t most = std::min(kLongest, text_.size() - at);
    for (size_t tried = 0; tried < std::min(earlier.size(), kMostTried); ++tried) {
      const size_t from = earlier[earlier.size() - 1 - tried];
      if (at - from > kFarthest) break;
      size_t length = 0;
      while (length < most && text_[from + length] == text_[at + length]) ++length;
      if (length > best.length) best = {length, at - from};
    }
    return best.length >= kShortest ? best : Match();
  }

 private:
  uint32_t key(size_t at) const {
    const auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<unsigned char>(text_[at + i])); };
    return byte(0) | byte(1) << 8 | byte(2) << 16;
  }
  std::string_view text_;
  std::unordered_map<uint32_t, std::vector<size_t>> places_;
};

// Symbols 257 to 285 stand for lengths, 0 to 29 for distances; each has bits behind it.
struct Coded {
  int symbol, extra_bits;
};
Coded length_symbol(size_t length) {
  if (length == kLongest) return {285, 0};
  const size_t over = length - kShortest;
  if (over < 8) return {257 + static_cast<int>(over), 0};
  int bits = 0;
  while (over >> (bits + 3)) ++bits;
  return {257 + 4 * bits + 4 + static_cast<int>(over >> bits & 3), bits};
}
Coded distance_symbol(size_t distance) {
  const size_t over = distance - 1;
  if (over < 4) return {static_cast<int>(over), 0};
  int bits = 0;
  while (over >> (bits + 2)) ++bits;
  return {2 * bits + 2 + static_cast<int>(over >> bits & 1), bits};
}

// Bits of all symbols under the best prefix code for them: the sum of the inner nodes of Huffman's tree.
double huffman_bits(std::span<const int64_t> counts) {
  std::priority_queue<int64_t, std::vector<int64_t>, std::greater<>> nodes;
  for (const int64_t count : counts) {
    if (count > 0) nodes.push(count);
  }
  if (nodes.size() == 1) return static_cast<double>(nodes.top());
  double bits = 0;
  while (nodes.size() > 1) {
    int64_t sum = nodes.top();
    nodes.pop();
    sum += nodes.top();
    nodes.pop();
    bits += static_cast<double>(sum);
    nodes.push(sum);
  }
  return bits;
}

double fixed_bits(std::span<const int64_t> counts) {  // of letters and lengths, by deflate's fixed code
  double bits = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    bits += static_cast<double>(counts[i]) * (i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8);
  }
  return bits;
}

}  // namespace

double compression_ratio(std::string_view text) {
  if (text.empty()) return 0;
  std::array<int64_t, 286> letters{};
  std::array<int64_t, 30> distances{};
  letters[256] = 1;  // the end
  double extra = 0, matches = 0;
  Places places(text);
  for (size_t at = 0; at < text.size();) {
    Match match = places.longest(at);
    places.add(at);
    // A longer match one letter further is preferred, as zlib does.
    const bool waits = match.length > 0 && match.length < 16 && places.longest(at + 1).length > match.length;
    if (match.length == 0 || waits) {
      ++letters[static_cast<unsigned char>(text[at++])];
      continue;
    }
    const Coded length = length_symbol(match.length), distance = distance_symbol(match.distance);
    ++letters[static_cast<size_t>(length.symbol)];
    ++distances[static_cast<size_t>(distance.symbol)];
    extra += length.extra_bits + distance.extra_bits;
    ++matches;
    for (size_t i = 1; i < match.length; ++i) places.add(at + i);
    at += match.length;
  }
  const auto used = [](std::span<const int64_t> counts) {
    return static_cast<double>(std::count_if(counts.begin(), counts.end(), [](int64_t n) { return n > 0; }));
  };
  const double own =
      huffman_bits(letters) + huffman_bits(distances) + kLengthCodeBits * (used(letters) + used(distances));
  const double fixed = fixed_bits(letters) + 5 * matches;
  const double bytes = kFrameBytes + std::ceil((3 + extra + std::min(own, fixed)) / 8);
  return static_cast<double>(text.size()) / bytes;
}

}  // namespace wick
