#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace wick {

// Fails the test unless the gradients of sum(run(inputs) * seed), for a random seed, agree with central differences by
// every element of every input. Inputs are f64 and small.
void expect_gradients(const std::function<Tensor(const std::vector<Tensor>&)>& run, const std::vector<Tensor>& inputs,
                      const std::string& what, double tolerance = 1e-6);

}  // namespace wick
