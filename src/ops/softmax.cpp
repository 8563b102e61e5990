#include "ops/softmax.h"

#include "ops/autograd.h"
#include "ops/binary.h"
#include "ops/check.h"
#include "ops/compare.h"
#include "ops/index.h"
#include "ops/reduction.h"
#include "ops/unary.h"
#include "ops/view.h"

namespace wick {

Tensor softmax(const Tensor& x, int64_t dim) {
  check_float("softmax", x);
  const int d = normalize_dim("softmax", dim, x.rank());
  const auto kernel = find_kernel("softmax", x.device(), &KernelTable::softmax);
  Tensor out = empty_like(x);
  kernel(x, d, out);
  if (tracks(x)) {
    record(out, "softmax", {x}, [d, out = out.detach()](const Tensor& grad) -> Grads {
      return {mul(out, sub(grad, sum(mul(grad, out), {d}, true)))};
    });
  }
  return out;
}

Tensor log_softmax(const Tensor& x, int64_t dim) {
  check_float("log_softmax", x);
  const int d = normalize_dim("log_softmax", dim, x.rank());
  const auto kernel = find_kernel("log_softmax", x.device(), &KernelTable::log_softmax);
  Tensor out = empty_like(x);
  kernel(x, d, out);
  if (tracks(x)) {
    record(out, "log_softmax", {x}, [d, out = out.detach()](const Tensor& grad) -> Grads {
      return {sub(grad, mul(exp(out), sum(grad, {d}, true)))};
    });
  }
  return out;
}

Tensor cross_entropy(const Tensor& logits, const Tensor& targets, int64_t ignore_index) {
  check_float("cross_entropy", logits);
  check_rank("cross_entropy", "logits", logits, 2);
  check_rank("cross_entropy", "targets", targets, 1);
  check_same_device("cross_entropy", {&logits, &targets});
  if (logits.dim(0) != targets.dim(0)) {
    throw Error(ErrorCode::kShape, cat("cross_entropy: logits ", logits.shape(), " for targets ", targets.shape()));
  }
  if (is_float(targets.dtype())) {
    throw Error(ErrorCode::kDType,
                cat("cross_entropy: targets have dtype ", targets.dtype(), ", expected an integer type"));
  }
  const Tensor ids = as_dtype(targets, DType::kI64);
  const Tensor counted = ne(ids, static_cast<double>(ignore_index));
  const Tensor safe = where(counted, ids, scalar(0, DType::kI64, ids.device()));
  const Tensor places = reshape(checked_indices("cross_entropy", safe, logits.dim(1)), {-1, 1});
  const Tensor losses = neg(reshape(gather(log_softmax(logits, 1), 1, places), {-1}));
  const double rows = sum(counted).item();
  if (rows == 0) throw Error(ErrorCode::kInvalidArgument, "cross_entropy: no row has a target");
  return div(sum(mul(losses, counted.to_dtype(losses.dtype()))), rows);
}

}  // namespace wick
