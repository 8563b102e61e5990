#include "backends/cuda/quant/codebooks.h"

#include <array>
#include <mutex>

#include "backends/cuda/runtime/runtime.h"
#include "quant/codebooks.h"

namespace wick::cuda {
namespace {

template <typename Entry, size_t kCount>
const Entry* to_device_table(Device device, const std::array<Entry, kCount>& table) {
  void* copy = allocate(device, sizeof(table));
  device_memory(device).copy_from_host(device, copy, table.data(), sizeof(table));
  return static_cast<const Entry*>(copy);
}

std::array<uint16_t, kIq1Grid.size()> iq1_pairs() {
  std::array<uint16_t, kIq1Grid.size()> pairs{};
  for (size_t i = 0; i < pairs.size(); ++i) {
    for (int j = 0; j < 8; ++j) {
      const auto number = static_cast<int8_t>(kIq1Grid[i] >> 8 * j);
      pairs[i] = static_cast<uint16_t>(pairs[i] | (number + 1) << 2 * j);
    }
  }
  return pairs;
}

}  // namespace

const Codebooks& codebooks(Device device) {
  static std::mutex mutex;
  static auto* known = new std::array<Codebooks*, kMostDevices>{};
  const std::lock_guard lock(mutex);
  Codebooks*& books = (*known)[static_cast<size_t>(device.index())];
  if (!books) {
    books = new Codebooks{to_device_table(device, kIq2xxsGrid), to_device_table(device, kIq2xsGrid),
                          to_device_table(device, kIq2sGrid),   to_device_table(device, kIq1Grid),
                          to_device_table(device, kIq3xxsGrid), to_device_table(device, kIq3sGrid),
                          to_device_table(device, iq1_pairs())};
  }
  return *books;
}

const void* codebook_of(Device device, DType dtype) {
  switch (dtype) {
    case DType::kIQ1_S:
    case DType::kIQ1_M: return codebooks(device).iq1_pairs;
    case DType::kIQ2_XXS: return codebooks(device).iq2_xxs;
    case DType::kIQ2_XS: return codebooks(device).iq2_xs;
    case DType::kIQ2_S: return codebooks(device).iq2_s;
    case DType::kIQ3_XXS: return codebooks(device).iq3_xxs;
    case DType::kIQ3_S: return codebooks(device).iq3_s;
    default: return nullptr;
  }
}

}  // namespace wick::cuda
