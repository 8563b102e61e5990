#pragma once

#include <hwy/highway.h>
#include <hwy/targets.h>

#include <string>
#include <vector>

namespace wick {

// The instruction sets that were compiled in and that this machine has, best first.
inline std::vector<int64_t> simd_targets() { return hwy::SupportedAndGeneratedTargets(); }

// Makes kernels use one instruction set while it lives.
class ForceSimdTarget {
 public:
  explicit ForceSimdTarget(int64_t target) { choose(target); }
  ~ForceSimdTarget() { choose(0); }
  ForceSimdTarget(const ForceSimdTarget&) = delete;
  ForceSimdTarget& operator=(const ForceSimdTarget&) = delete;

 private:
  static void choose(int64_t target) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
};

}  // namespace wick
