#pragma once

#include <functional>
#include <string>
#include <vector>

#include "formats/weights.h"

namespace wick {

// A tensor of the GGUF file that a model makes.
struct GgufTensor {
  std::string name;
  Shape shape;                   // outermost first
  DType dtype;                   // as the source stores it
  std::function<Tensor()> load;  // in GGUF's layout, row-major; a view of the source where that is possible
};

// Every tensor of the model as GGUF names and lays it out, shapes known before anything is read. GGUF files keep their
// own; from Hugging Face, rows are permuted, experts stacked and rope factors made. The source must outlive the list.
// Throws Error(kUnsupported) naming the tensor that has no place in GGUF.
std::vector<GgufTensor> gguf_tensors(const WeightSource& source);

}  // namespace wick
