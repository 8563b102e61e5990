#pragma once

#include <span>

#include "tensor/tensor.h"

namespace wick {

// What a product takes: x, its RMS norm, or silu(x) * up. All f32; x itself may also be in the dtype of f16 or bf16
// weights.
struct LinearInput {
  Tensor x;                 // [rows, k]
  Tensor norm_weight = {};  // f32 [k]; undefined: no norm
  float eps = 0;
  Tensor up = {};  // [rows, k]; undefined: x itself
};

// One of the products that share an input. Kernels are given `out`.
struct LinearJob {
  Tensor weight;         // [n, k], any float or packed
  Tensor bias = {};      // f32 [n]; undefined: none
  Tensor residual = {};  // f32 [rows, n]; undefined: none
  Tensor out = {};       // f32 [rows, n]
};

// job.out = (input weight^T + bias) + residual for each job, in as few kernels as the device allows. The bits are those
// of the ops one after the other: norm or activation, product, bias, residual.
void linear(const LinearInput& input, std::span<LinearJob> jobs);

// silu(gate) * up of two products with one input, bit for bit as from linear(), for `down` to multiply: of many rows
// perhaps already in the dtype that it rounds them to, unless they are wanted in f32. Undefined where products of so
// many rows or such weights are better left apart.
Tensor gated_linear(const LinearInput& input, const LinearJob& gate, const LinearJob& up, const Tensor& down,
                    bool wants_f32);

// The input itself: normed or activated.
Tensor materialize(const LinearInput& input);

}  // namespace wick
