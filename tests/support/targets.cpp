#include "support/targets.h"

#include <gtest/gtest.h>
#include <hwy/highway.h>

namespace wick {

void on_every_target(const std::function<void(const std::string& name)>& body) {
  const int64_t usable = hwy::SupportedTargets() & HWY_TARGETS;
  for (int bit = 62; bit >= 0; --bit) {  // lower bits are better sets
    const int64_t target = int64_t{1} << bit;
    if (!(usable & target)) continue;
    hwy::SetSupportedTargetsForTest(target);
    const std::string name = hwy::TargetName(target);
    SCOPED_TRACE("instruction set " + name);
    body(name);
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().DeInit();
}

}  // namespace wick
