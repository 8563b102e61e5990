#include "backends/cpu/instruction_sets.h"

#include <hwy/highway.h>

#include <cstdint>

namespace wick {
namespace {

// A lower bit is a better instruction set.
std::vector<std::string> names(int64_t targets) {
  std::vector<std::string> result;
  for (auto rest = static_cast<uint64_t>(targets); rest != 0; rest &= rest - 1) {
    result.emplace_back(hwy::TargetName(static_cast<int64_t>(rest & (~rest + 1))));
  }
  return result;
}

}  // namespace

InstructionSets instruction_sets() {
  InstructionSets sets;
  const int64_t compiled = HWY_TARGETS, supported = hwy::SupportedTargets();
  sets.compiled = names(compiled);
  sets.supported = names(supported);
  const auto usable = names(compiled & supported);
  sets.chosen = usable.empty() ? names(HWY_STATIC_TARGET).front() : usable.front();
  return sets;
}

}  // namespace wick
