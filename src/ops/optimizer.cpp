#include "ops/optimizer.h"

#include <limits>

#include "ops/check.h"
#include "tensor/arena.h"

namespace wick {

void check_option(const char* optimizer, const char* option, double value, double low, double high) {
  if (value >= low && value < high) return;
  const bool bounded = high < std::numeric_limits<double>::infinity();
  throw Error(ErrorCode::kInvalidArgument,
              bounded ? cat(optimizer, ": ", option, " is ", value, ", expected a number in [", low, ", ", high, ")")
                      : cat(optimizer, ": ", option, " is ", value, ", expected a finite number of at least ", low));
}

DType state_dtype(const Tensor& parameter) { return parameter.dtype() == DType::kF64 ? DType::kF64 : DType::kF32; }

Tensor optimizer_state(const Tensor& parameter) {
  const ArenaPause heap;
  return zeros(parameter.shape(), state_dtype(parameter), parameter.device());
}

void overwrite(const Tensor& state, const Tensor& values) {
  find_kernel("optimizer step", state.device(), &KernelTable::copy)(values, state);
}

}  // namespace wick
