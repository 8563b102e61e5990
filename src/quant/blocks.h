#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace wick {

// Calls body(block, weights of that block) for every block. Blocks may lie at any address, so each is copied out.
template <typename Block, int kWeights, typename Body>
void decode_blocks(const std::byte* blocks, float* weights, int64_t count, Body body) {
  for (int64_t i = 0; i < count / kWeights; ++i) {
    Block block;
    std::memcpy(&block, blocks + i * static_cast<int64_t>(sizeof(Block)), sizeof(Block));
    body(block, weights + i * kWeights);
  }
}

}  // namespace wick
