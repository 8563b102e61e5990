#pragma once

#include <string>

#include "tensor/tensor.h"

namespace wick {

// Fails the test unless shapes agree and |actual - expected| <= tolerance * max(1, |expected|) everywhere; infinities
// must match in sign and NaN must meet NaN. Integer tensors must be equal.
void expect_close(const Tensor& actual, const Tensor& expected, double tolerance, const std::string& what);

// Fails the test unless shapes, dtypes and every bit agree (NaN counts as equal to itself).
void expect_identical(const Tensor& actual, const Tensor& expected, const std::string& what);

}  // namespace wick
