#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "base/error.h"
#include "tensor/tensor.h"
#if WICK_CUDA
#include "backends/cuda/runtime/devices.h"
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

// The same without the reference, which they are compared with.
inline const std::vector<Device>& tuned_devices() {
  static const std::vector<Device> devices = [] {
    std::vector<Device> found = test_devices();
    std::erase(found, Device::reference());
    return found;
  }();
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

// Of tests over (name, tuned device): the name, and where it is not computed on the host.
inline std::string name_and_device(const testing::TestParamInfo<std::tuple<const char*, Device>>& info) {
  return cat(std::get<0>(info.param), std::get<1>(info.param).is_host() ? "" : "_cuda");
}

// Base of a test that runs on every device: class SumTest : public OnEveryDevice {}; WICK_ON_EVERY_DEVICE(SumTest);
class OnEveryDevice : public testing::TestWithParam<Device> {
 protected:
  Device device() const { return GetParam(); }
};

#define WICK_ON_EVERY_DEVICE(suite) \
  INSTANTIATE_TEST_SUITE_P(, suite, testing::ValuesIn(::wick::test_devices()), ::wick::device_name)

}  // namespace wick
