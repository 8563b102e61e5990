#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include "base/error.h"
#include "tensor/tensor.h"
#if WICK_CUDA
#include "backends/cuda/devices.h"
#endif

namespace wick {

// Every device this build can compute on; op tests run on each. CUDA where a device is there.
inline std::vector<Device> test_devices() {
  std::vector<Device> devices{Device::reference(), Device::cpu()};
#if WICK_CUDA
  if (!list_cuda_devices().devices.empty()) devices.push_back(Device::cuda());
#endif
  return devices;
}

// A device that no machine has, and how using it fails: a build without CUDA has none at all.
inline constexpr Device kMissingDevice = Device::cuda(200);
#if WICK_CUDA
inline constexpr ErrorCode kMissingDeviceError = ErrorCode::kDevice;
#else
inline constexpr ErrorCode kMissingDeviceError = ErrorCode::kUnsupported;
#endif

inline void PrintTo(Device device, std::ostream* out) { *out << to_string(device); }  // for gtest's messages

inline std::string device_name(const testing::TestParamInfo<Device>& info) {
  std::string name = to_string(info.param);
  std::replace(name.begin(), name.end(), ':', '_');
  return name;
}

// Base of a test that runs on every device: class SumTest : public OnEveryDevice {}; WICK_ON_EVERY_DEVICE(SumTest);
class OnEveryDevice : public testing::TestWithParam<Device> {
 protected:
  Device device() const { return GetParam(); }
};

#define WICK_ON_EVERY_DEVICE(suite) \
  INSTANTIATE_TEST_SUITE_P(, suite, testing::ValuesIn(::wick::test_devices()), ::wick::device_name)

}  // namespace wick
