#if WICK_CUDA
#include <gtest/gtest.h>

#include "base/error.h"
#include "ops/ops.h"
#include "support/compare.h"
#include "support/needs_cuda.h"
#include "tensor/create.h"

namespace wick {
namespace {

TEST(Cuda, ListsDevicesOrSaysWhyThereAreNone) {
  const CudaDevices found = list_cuda_devices();
  EXPECT_NE(found.devices.empty(), found.problem.empty());
  for (const CudaDeviceInfo& device : found.devices) {
    EXPECT_FALSE(device.name.empty());
    EXPECT_GT(device.memory_total, 0);
    EXPECT_GE(device.memory_total, device.memory_free);
    EXPECT_GE(device.major, 3);
  }
}

TEST(Cuda, WithoutADeviceAllocationIsAnError) {
  if (!list_cuda_devices().devices.empty()) GTEST_SKIP() << "there is a device";
  try {
    ones({2, 3}).to_device(Device::cuda());
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kDevice);
    EXPECT_EQ(std::string(error.what()).find("cuda:0: select device: "), 0u) << error.what();
  }
}

class CudaDevice : public NeedsCuda<> {};

TEST_F(CudaDevice, TensorsTravelThereAndBack) {
  for (const Shape& shape : {Shape{3, 65}, Shape{}, Shape{0, 4}}) {
    const Tensor x = randn(shape, 1);
    const Tensor there = x.to_device(Device::cuda());
    EXPECT_EQ(to_string(there.device()), "cuda:0");
    expect_identical(there.to_device(Device::cpu()), x, to_string(shape));
  }
}

TEST_F(CudaDevice, TooMuchMemoryIsOutOfMemory) {
  try {
    empty({int64_t{1} << 50}, DType::kU8, Device::cuda());
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kOutOfMemory) << error.what();
  }
}

TEST_F(CudaDevice, MemoryIsUsedAgain) {
  const Tensor first = empty({1000}, DType::kF32, Device::cuda());
  const std::byte* place = first.raw();
  const Tensor other = empty({1000}, DType::kF32, Device::cuda());
  EXPECT_NE(other.raw(), place);
  { const Tensor gone = first; }
  Tensor again = add(other, other);  // while `first` is held, nothing takes its place
  EXPECT_NE(again.raw(), place);
}

}  // namespace
}  // namespace wick
#endif  // WICK_CUDA
