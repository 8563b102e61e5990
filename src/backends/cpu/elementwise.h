#pragma once

#include "backends/cpu/source.h"
#include "base/function_ref.h"

namespace wick::cpu {

// Inputs of one run: pointers to elements of the compute type, and whether each moves (1) or repeats its first (0).
struct Run {
  std::array<const void*, 3> in{};
  std::array<int, 3> step{1, 1, 1};
};

// Runs `body(run, out, count)` over a row-major result, in threads and in runs that fit the first-level cache. An
// input steps by 0 only where `may_repeat` says that body can take it; otherwise it is spread into a buffer.
// `out_compute` is the element type body writes.
void for_each_run(std::span<const Source> inputs, bool may_repeat, const Tensor& out, DType out_compute,
                  FunctionRef<void(const Run& run, void* out, int64_t count)> body);

}  // namespace wick::cpu
