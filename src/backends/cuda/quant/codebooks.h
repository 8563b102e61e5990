#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace wick::cuda {

// The tables of quant/codebooks.h on a device.
struct Codebooks {
  const uint64_t *iq2_xxs, *iq2_xs, *iq2_s, *iq1;
  const uint32_t *iq3_xxs, *iq3_s;
  const uint16_t* iq1_pairs;  // iq1 in two bits for each of eight numbers, which are one more than those
};
// Copied at the first use and kept.
const Codebooks& codebooks(Device device);

// What Codes of a format look up; null if it is nothing.
const void* codebook_of(Device device, DType dtype);

}  // namespace wick::cuda
