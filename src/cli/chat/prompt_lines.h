#pragma once

#include <string>
#include <vector>

namespace wick {

// The lines of a file that are not empty, without their line ends. Throws Error(kIo), and Error(kInvalidArgument) when
// there are none.
std::vector<std::string> read_lines(const std::string& path);

}  // namespace wick
