#define HWY_WANT_AVX3_DL 1  // some kernels have a version for it
#include "support/targets.h"

#include <gtest/gtest.h>
#include <hwy/highway.h>

namespace wick {
namespace {

void choose(int64_t targets) {  // 0: whatever the machine has
  hwy::SetSupportedTargetsForTest(targets);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace

void on_every_target(const std::function<void(const std::string& name)>& body) {
  const int64_t usable = hwy::SupportedTargets() & HWY_TARGETS;
  for (int bit = 62; bit >= 0; --bit) {  // lower bits are better sets
    const int64_t target = int64_t{1} << bit;
    if (!(usable & target)) continue;
    choose(usable & ~(target - 1));  // this one and worse: kernels without a version for it take the next
    const std::string name = hwy::TargetName(target);
    SCOPED_TRACE("instruction set " + name);
    body(name);
  }
  choose(0);
}

}  // namespace wick
