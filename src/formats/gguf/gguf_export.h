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

// The dtype itself where GGUF has it, else the nearest one that it has: GPTQ and AWQ in 4 bits become q4_1, eight bits
// of any kind q8_0, f8 f16, f64 f32.
DType gguf_dtype(DType dtype);

}  // namespace wick
