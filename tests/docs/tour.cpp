// The tour in README.md. tests/docs/run_commands checks that the README shows this code and its output.
#include <iostream>

#include "ops/ops.h"
#include "tensor/create.h"

using namespace wick;

int main() {
  const Tensor x = tensor({{1.f, 2.f, 3.f}, {4.f, 5.f, 6.f}});  // f32 [2, 3]
  const Tensor row = narrow(x, 0, 1, 1);                        // a view: no bytes are copied
  std::cout << matmul(row, transpose(x, 0, 1)) << "\n";         // [1, 3] x [3, 2]

  const Var weight(ones({3}));  // a leaf that wants a gradient
  const Tensor loss = sum(sqr(x * weight));
  std::cout << backward(loss).of(weight) << "\n";  // 2 * sum over rows of x^2

  try {
    matmul(x, x);
  } catch (const Error& error) {
    std::cout << error.what() << "\n";
  }
}
