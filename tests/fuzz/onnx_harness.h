#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace wick {

// Reads the bytes as an ONNX file and runs it on inputs of the shapes that it declares, in little memory and few steps.
// True: it ran. An Error is the right answer to a bad file; anything else is a finding and aborts.
bool fuzz_onnx(std::span<const std::byte> bytes);

// Small models that use every part of the format: branches, loops, functions, constants of all kinds.
std::vector<std::string> onnx_seeds();

}  // namespace wick
