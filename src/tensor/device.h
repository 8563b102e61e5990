#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace wick {

struct KernelTable;  // ops/kernel_table.h

// kReference is the CPU with the plain kernels of backends/reference: the yardstick of every test.
enum class DeviceKind : uint8_t { kCpu, kReference, kCuda };

// Where a tensor's bytes live and whose kernels work on them.
class Device {
 public:
  constexpr Device() = default;
  static constexpr Device cpu() { return {DeviceKind::kCpu, 0}; }
  static constexpr Device reference() { return {DeviceKind::kReference, 0}; }
  static constexpr Device cuda(int index = 0) { return {DeviceKind::kCuda, index}; }

  DeviceKind kind() const { return kind_; }
  int index() const { return index_; }
  bool is_host() const { return kind_ != DeviceKind::kCuda; }  // the CPU can read the bytes

  // Throws Error(kUnsupported) when this build has no such device. Defined in ops/kernel_table.cpp.
  const KernelTable& kernels() const;

  bool operator==(const Device&) const = default;

 private:
  constexpr Device(DeviceKind kind, int index) : kind_(kind), index_(static_cast<uint8_t>(index)) {}

  DeviceKind kind_ = DeviceKind::kCpu;
  uint8_t index_ = 0;
};

// "cpu", "reference", "cuda:0"
std::string to_string(Device device);

// Memory of a device that is not the host. Each call throws Error on failure, except release, which destructors call.
struct DeviceMemory {
  void* (*allocate)(Device device, size_t bytes);
  void (*release)(Device device, void* data, size_t bytes);
  void (*copy_from_host)(Device device, void* to, const void* from, size_t bytes);
  void (*copy_to_host)(Device device, void* to, const void* from, size_t bytes);
  void (*copy_within)(Device device, void* to, const void* from, size_t bytes);
};

// The memory functions of a non-host device. Throws Error(kUnsupported) when this build has no such device.
const DeviceMemory& device_memory(Device device);

}  // namespace wick
