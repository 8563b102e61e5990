#pragma once

#include <cstddef>
#include <span>

namespace wick {

// Opens the bytes as a file of that kind, reads everything it lists, and returns whether it was accepted. An Error is
// the right answer to a bad file; anything else (a crash, another exception, a broken promise) is a finding and
// aborts.
bool fuzz_checkpoint(std::span<const std::byte> bytes);
bool fuzz_index(std::span<const std::byte> bytes);
// The first byte chooses a packed dtype; the rest is decoded as its blocks, and encoded as f32 weights.
void fuzz_tensor_data(std::span<const std::byte> bytes);

}  // namespace wick
