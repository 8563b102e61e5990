#include "ops/layers/linear.h"

#include "ops/autograd.h"
#include "ops/binary.h"
#include "ops/check.h"
#include "ops/layers/matmul.h"
#include "ops/layers/norm.h"
#include "ops/unary.h"
#include "ops/view.h"

namespace wick {
namespace {

constexpr const char* kName = "linear";

void check_vector(const char* what, const Tensor& x, int64_t size) {
  if (!x.defined()) return;
  if (x.dtype() != DType::kF32)
    throw Error(ErrorCode::kDType, cat(kName, ": ", what, " is ", x.dtype(), ", expected f32"));
  if (x.rank() != 1 || x.dim(0) != size) {
    throw Error(ErrorCode::kShape, cat(kName, ": ", what, " has shape ", x.shape(), ", expected [", size, "]"));
  }
}

void check_rows(const char* what, const Tensor& x, const Shape& shape) {
  if (!x.defined()) return;
  if (x.dtype() != DType::kF32)
    throw Error(ErrorCode::kDType, cat(kName, ": ", what, " is ", x.dtype(), ", expected f32"));
  if (x.shape() != shape) {
    throw Error(ErrorCode::kShape, cat(kName, ": ", what, " has shape ", x.shape(), ", expected ", shape));
  }
}

Tensor dense(const Tensor& x) { return x.defined() ? x.detach().contiguous() : x; }

// Row-major, checked, and without a record of gradients.
LinearInput checked_input(const LinearInput& input) {
  check_float(kName, input.x);
  check_rank(kName, "x", input.x, 2);
  check_vector("norm_weight", input.norm_weight, input.x.dim(1));
  check_rows("up", input.up, input.x.shape());
  check_same_device(kName, {&input.x, &input.norm_weight, &input.up});
  if (input.norm_weight.defined() && input.up.defined()) {
    throw Error(ErrorCode::kInvalidArgument, cat(kName, ": an input is normed or activated, not both"));
  }
  return {dense(input.x), dense(input.norm_weight), input.eps, dense(input.up)};
}

LinearJob checked_job(const LinearInput& input, const LinearJob& job) {
  check_defined(kName, job.weight);
  check_rank(kName, "weight", job.weight, 2);
  check_same_device(kName, {&input.x, &job.weight, &job.bias, &job.residual});
  if (job.weight.dim(1) != input.x.dim(1)) {
    throw Error(ErrorCode::kShape, cat(kName, ": x ", input.x.shape(), " with weight ", job.weight.shape(),
                                       ": inner dimensions ", input.x.dim(1), " and ", job.weight.dim(1), " differ"));
  }
  const Shape shape{input.x.dim(0), job.weight.dim(0)};
  check_vector("bias", job.bias, shape[1]);
  check_rows("residual", job.residual, shape);
  return {job.weight.detach(), dense(job.bias), dense(job.residual), empty(shape, DType::kF32, input.x.device())};
}

bool tracks_any(const LinearInput& input, const LinearJob& job) {
  const auto leads = [](const Tensor& x) { return x.defined() && tracks(x); };
  return leads(input.x) || leads(input.norm_weight) || leads(input.up) || leads(job.weight) || leads(job.bias) ||
         leads(job.residual);
}

// With the ops one after the other, which record their gradients.
Tensor composed(const LinearInput& input, const LinearJob& job) {
  Tensor y = matmul(materialize(input), transpose(job.weight, 0, 1));
  if (job.bias.defined()) y = add(y, job.bias);
  return job.residual.defined() ? add(job.residual, y) : y;
}

}  // namespace

Tensor materialize(const LinearInput& input) {
  if (input.norm_weight.defined()) return rms_norm(input.x, input.norm_weight, input.eps);
  return input.up.defined() ? mul(silu(input.x), input.up) : input.x;
}

void linear(const LinearInput& input, std::span<LinearJob> jobs) {
  const LinearInput checked = checked_input(input);
  const auto kernel = find_kernel(kName, input.x.device(), &KernelTable::linear);
  bool tracked = false;
  for (const LinearJob& job : jobs) tracked |= tracks_any(input, job);
  for (LinearJob& job : jobs) {
    if (tracked) {
      checked_job(checked, job);
      job.out = composed(input, job);
    } else {
      job = checked_job(checked, job);
    }
  }
  if (!tracked && input.x.dim(0) > 0) kernel(checked, jobs);
}

Tensor gated_linear(const LinearInput& input, const LinearJob& gate, const LinearJob& up, const Tensor& down,
                    bool wants_f32) {
  const auto kernel = input.x.device().kernels().gated_linear;
  if (!kernel || input.x.dtype() != DType::kF32 || tracks_any(input, gate) || tracks_any(input, up)) return {};
  const LinearInput checked = checked_input(input);
  LinearJob first = checked_job(checked, gate), second = checked_job(checked, up);
  // Tensor cores take many rows rounded anyway; a few are rounded as they are read, and the host rounds none.
  constexpr int64_t kManyRows = 64;
  const DType dtype = gate.weight.dtype();
  const bool rounds = !wants_f32 && !input.x.device().is_host() && input.x.dim(0) > kManyRows &&
                      (dtype == DType::kF16 || dtype == DType::kBF16) && down.defined() && down.dtype() == dtype &&
                      down.strides()[1] == 1;
  if (rounds) first.out = empty(first.out.shape(), dtype, input.x.device());
  second.out = {};
  if (!kernel(checked, first, second)) return {};
  return first.out;
}

}  // namespace wick
