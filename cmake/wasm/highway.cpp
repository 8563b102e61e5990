// The part of Highway that is not in its headers: which instruction sets there are. WebAssembly leaves no choice at run
// time, so it is the one that was compiled.
#include <hwy/highway.h>

namespace hwy {

int64_t SupportedTargets() { return HWY_TARGETS; }

void SetSupportedTargetsForTest(int64_t) {}

ChosenTarget& GetChosenTarget() {
  static ChosenTarget chosen;
  return chosen;
}

}  // namespace hwy
