#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace wick {

// e^x / sum(e^x) along a dimension.
Tensor softmax(const Tensor& x, int64_t dim);

// x - log(sum(e^x)) along a dimension.
Tensor log_softmax(const Tensor& x, int64_t dim);

// The mean over rows of -log softmax(logits)[target]: logits [rows, classes], targets [rows] of integers.
// Rows whose target is ignore_index do not count.
Tensor cross_entropy(const Tensor& logits, const Tensor& targets, int64_t ignore_index = -100);

}  // namespace wick
