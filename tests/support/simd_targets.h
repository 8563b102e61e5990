#pragma once

#include <hwy/highway.h>
#include <hwy/targets.h>

#include <cstdint>
#include <vector>

namespace wick {

// The instruction sets that were compiled in and that this machine has, best first.
inline std::vector<int64_t> compiled_targets() { return hwy::SupportedAndGeneratedTargets(); }

// Makes kernels use only these instruction sets (a mask of HWY_ targets) while it lives.
class ForcedTargets {
 public:
  explicit ForcedTargets(int64_t targets) { choose(targets); }
  ~ForcedTargets() { choose(0); }
  ForcedTargets(const ForcedTargets&) = delete;
  ForcedTargets& operator=(const ForcedTargets&) = delete;

 private:
  static void choose(int64_t targets) {
    hwy::SetSupportedTargetsForTest(targets);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
};

}  // namespace wick
