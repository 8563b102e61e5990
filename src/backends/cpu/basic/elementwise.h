#pragma once

#include "backends/cpu/gemm/source.h"
#include "base/function_ref.h"

namespace wick::cpu {

// Inputs of one run: pointers to elements of the compute type, and whether each moves (1) or repeats its first (0).
struct Run {
  std::array<const void*, 3> in{};
  std::array<int, 3> step{1, 1, 1};
  bool streams = false;  // write whole vectors with stores that bypass the caches; out is aligned
};

// What a body can take; what it cannot, goes through buffers.
struct RunOptions {
  bool repeats = false;  // inputs with step 0
  bool streams = false;  // Run::streams
};

// Runs `body(run, out, count)` over a row-major result, in threads and in runs that fit the first-level cache.
// `out_compute` is the element type body writes.
void for_each_run(std::span<const Source> inputs, RunOptions can, const Tensor& out, DType out_compute,
                  FunctionRef<void(const Run& run, void* out, int64_t count)> body);

}  // namespace wick::cpu
