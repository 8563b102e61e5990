#pragma once

#include <string>
#include <vector>

namespace wick {

// Highway's names of instruction sets ("AVX3", "AVX2", "SSE4", "NEON"), best first.
struct InstructionSets {
  std::vector<std::string> compiled;   // the kernels hold code for these
  std::vector<std::string> supported;  // this machine runs these
  std::string chosen;                  // what the kernels use here
};

InstructionSets instruction_sets();

}  // namespace wick
