#pragma once

#include <map>
#include <string>

#include "base/text.h"
#include "ops/layers/quantize.h"
#include "tensor/create.h"

namespace wick {

// Random numbers of a shape, made once per program: repetitions and peers work on the same data.
inline const Tensor& random_input(const Shape& shape, uint64_t seed, DType dtype = DType::kF32) {
  static std::map<std::string, Tensor> made;
  Tensor& input = made[cat(shape, " ", seed, " ", dtype)];
  if (!input.defined()) {
    input = is_packed(dtype) ? quantize(randn(shape, seed), dtype) : randn(shape, seed, dtype);
  }
  return input;
}

}  // namespace wick
