#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace wick {

// Runs body once per instruction set that was compiled and that this machine has, with kernels held to that set, the
// best last. `name` is e.g. "AVX2".
void on_every_target(const std::function<void(const std::string& name)>& body);

}  // namespace wick
