#include "ops/pool.h"

#include "ops/check.h"

namespace wick {

Shape pool_shape(const char* op, const Tensor& x, const Pool2dParams& p) {
  check_float(op, x);
  check_rank(op, "x", x, 4);
  if (p.kernel_h < 1 || p.kernel_w < 1 || p.stride_h < 1 || p.stride_w < 1) {
    throw Error(ErrorCode::kInvalidArgument, cat(op, ": kernel ", p.kernel_h, " x ", p.kernel_w, ", stride ",
                                                 p.stride_h, " x ", p.stride_w, ": all must be at least 1"));
  }
  if (p.kernel_h > x.dim(2) || p.kernel_w > x.dim(3)) {
    throw Error(ErrorCode::kShape,
                cat(op, ": x ", x.shape(), " is smaller than the kernel ", p.kernel_h, " x ", p.kernel_w));
  }
  return {x.dim(0), x.dim(1), (x.dim(2) - p.kernel_h) / p.stride_h + 1, (x.dim(3) - p.kernel_w) / p.stride_w + 1};
}

}  // namespace wick
