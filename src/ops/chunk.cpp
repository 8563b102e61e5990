#include "ops/chunk.h"

#include <algorithm>

#include "base/checked.h"
#include "ops/check.h"
#include "ops/narrow.h"

namespace wick {

std::vector<Tensor> chunk(const Tensor& x, int64_t chunks, int64_t dim) {
  check_defined("chunk", x);
  const int d = normalize_dim("chunk", dim, x.rank());
  if (chunks < 1)
    throw Error(ErrorCode::kInvalidArgument, cat("chunk: ", chunks, " chunks asked for, expected 1 or more"));
  const int64_t size = std::max<int64_t>(1, ceil_div(x.dim(d), chunks));
  std::vector<Tensor> parts;
  for (int64_t start = 0; start < x.dim(d); start += size) {
    parts.push_back(narrow(x, d, start, std::min(size, x.dim(d) - start)));
  }
  if (parts.empty()) parts.push_back(x);
  return parts;
}

}  // namespace wick
