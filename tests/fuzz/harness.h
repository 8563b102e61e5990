#pragma once

#include <cstddef>
#include <span>

namespace wick {

// Opens the bytes as a file of that kind, reads everything it lists, and returns whether it was accepted. An Error is
// the right answer to a bad file; anything else (a crash, another exception, a broken promise) is a finding and
// aborts.
bool fuzz_checkpoint(std::span<const std::byte> bytes);
bool fuzz_index(std::span<const std::byte> bytes);

}  // namespace wick
