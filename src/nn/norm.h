#pragma once

#include <cstdint>

#include "ops/layers/linear.h"
#include "tensor/tensor.h"

namespace wick {

enum class NormKind : uint8_t { kNone, kRms, kLayer };

// A norm over the last dimension; kNone passes values through.
struct Norm {
  NormKind kind = NormKind::kNone;
  Tensor weight;  // f32; undefined: ones
  Tensor bias;    // f32, kLayer only; undefined: zeros
  float eps = 1e-5f;

  bool present() const { return kind != NormKind::kNone; }
  Tensor operator()(const Tensor& x) const;
  // The norm of x as something to multiply: left to the product where that can do it, to the same bits.
  LinearInput input_for(const Tensor& x) const;
};

}  // namespace wick
