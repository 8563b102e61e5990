#pragma once

#if WICK_CUDA
#include <gtest/gtest.h>

#include "backends/cuda/runtime/devices.h"

namespace wick {

// Base of tests that need a CUDA device; where there is none, they are skipped and say why.
template <typename Base = testing::Test>
class NeedsCuda : public Base {
 protected:
  void SetUp() override {
    Base::SetUp();
    if (testing::Test::IsSkipped()) return;
    const CudaDevices found = list_cuda_devices();
    if (found.devices.empty()) GTEST_SKIP() << found.problem;
  }
};

}  // namespace wick
#endif
