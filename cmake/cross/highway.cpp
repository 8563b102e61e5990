// The part of Highway that is not in its headers: which instruction sets there are. The targets of cross builds have
// one, so there is no choice at run time.
#include <hwy/highway.h>

namespace hwy {

static_assert((HWY_TARGETS & (HWY_TARGETS - 1)) == 0, "one instruction set");

int64_t SupportedTargets() { return HWY_TARGETS; }

void SetSupportedTargetsForTest(int64_t) {}

ChosenTarget& GetChosenTarget() {
  static ChosenTarget chosen;
  return chosen;
}

}  // namespace hwy
