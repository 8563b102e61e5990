#pragma once

#include <string_view>

namespace wick::graph {

// Tests of ONNX's own suite that Wick does not pass, and why. One that passes must go from here.
struct KnownFailure {
  std::string_view test, reason;
};
inline constexpr KnownFailure kKnownFailures[] = {
    {"-", "-"},
};

}  // namespace wick::graph
