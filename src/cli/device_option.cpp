#include "cli/device_option.h"

#include <charconv>

#include "base/error.h"
#include "base/text.h"
#if WICK_CUDA
#include "backends/cuda/runtime/devices.h"
#endif

namespace wick {

Device device_named(const std::string& name) {
  if (name == "cpu") return Device::cpu();
  int index = 0;
  const bool numbered = name.starts_with("cuda:");
  const char *begin = name.data() + 5, *end = name.data() + name.size();
  if (name != "cuda" && (!numbered || begin == end || std::from_chars(begin, end, index).ptr != end || index < 0)) {
    throw Error(ErrorCode::kInvalidArgument, cat("--device: '", name, "' is not known; cpu, cuda and cuda:1 are"));
  }
#if WICK_CUDA
  const CudaDevices found = list_cuda_devices();
  if (found.devices.empty()) throw Error(ErrorCode::kUnsupported, cat("--device ", name, ": ", found.problem));
  const auto count = static_cast<int>(found.devices.size());
  if (index >= count) {
    throw Error(ErrorCode::kUnsupported, cat("--device ", name, ": this machine has ", count, " CUDA device",
                                             count == 1 ? "" : "s", ", counted from 0"));
  }
  return Device::cuda(index);
#else
  throw Error(ErrorCode::kUnsupported, cat("--device ", name, ": this build is without CUDA (preset cuda has it)"));
#endif
}

}  // namespace wick
