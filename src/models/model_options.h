#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "tensor/device.h"
#include "tensor/dtype.h"

namespace wick {

// How a model is loaded.
struct ModelOptions {
  std::string quantize = "auto";  // a QuantizePlan's name; "auto" keeps weights as they are stored
  int64_t context = 0;            // the longest text, in tokens; 0: what the model was made for
  Device device = Device::cpu();
  // Rotary frequencies and tables of positions are rounded to this dtype (f16 or bf16), as in a PyTorch model that was
  // cast as a whole; empty: not, as PyTorch does when it loads a model. For comparing with such references only.
  std::optional<DType> rope_dtype;
  std::function<void(int64_t done, int64_t total)> progress;  // bytes of weights; may be empty
};

}  // namespace wick
