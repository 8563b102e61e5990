#include "engine/sampling/mask.h"

#include <array>
#include <bit>
#include <cstring>

#include "engine/sampling/weights.h"

namespace wick::sampling {
namespace {

constexpr std::array<uint32_t, 32> kBit = [] {
  std::array<uint32_t, 32> bits{};
  for (size_t i = 0; i < 32; ++i) bits[i] = 1u << i;
  return bits;
}();

// 32 tokens for one word of the mask; on bits and without shifts, which compilers vectorise.
void forbid_others(uint32_t allowed, std::span<float, 32> logits) {
  uint32_t bits[32];
  std::memcpy(bits, logits.data(), sizeof(bits));
  for (size_t i = 0; i < 32; ++i) {
    const uint32_t keep = (allowed & kBit[i]) == kBit[i] ? ~0u : 0u;
    bits[i] = (bits[i] & keep) | (std::bit_cast<uint32_t>(kForbidden) & ~keep);
  }
  std::memcpy(logits.data(), bits, sizeof(bits));
}

}  // namespace

void forbid_others(std::span<const uint32_t> allowed, std::span<float> logits) {
  for (size_t begin = 0; begin < logits.size(); begin += 32) {
    const uint32_t bits = begin / 32 < allowed.size() ? allowed[begin / 32] : 0;
    if (bits == ~uint32_t{0}) continue;
    if (begin + 32 <= logits.size()) {
      forbid_others(bits, logits.subspan(begin).first<32>());
    } else {
      for (size_t i = begin; i < logits.size(); ++i) {
        if (!(bits >> (i - begin) & 1)) logits[i] = kForbidden;
      }
    }
  }
}

}  // namespace wick::sampling
