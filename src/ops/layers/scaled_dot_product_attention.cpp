#include "ops/layers/scaled_dot_product_attention.h"

#include <cmath>
#include <limits>

#include "ops/autograd.h"
#include "ops/binary.h"
#include "ops/check.h"
#include "ops/compare.h"
#include "ops/layers/matmul.h"
#include "ops/reduction.h"
#include "ops/softmax.h"
#include "ops/view.h"

namespace wick {

namespace {

constexpr const char* kName = "scaled_dot_product_attention";

// The mask as numbers to add: u8 masks become 0 and -infinity.
Tensor additive_mask(const Tensor& mask) {
  if (mask.dtype() != DType::kU8) return as_dtype(mask, DType::kF32);
  const double hidden = -std::numeric_limits<double>::infinity();
  return where(mask, scalar(0, DType::kF32, mask.device()), scalar(hidden, DType::kF32, mask.device()));
}

Tensor causal_mask(int64_t queries, int64_t keys, Device device) {
  const Tensor row = reshape(arange(0, static_cast<double>(queries), 1, DType::kI64, device), {queries, 1});
  const Tensor col = arange(0, static_cast<double>(keys), 1, DType::kI64, device);
  return additive_mask(ge(add(row, static_cast<double>(keys - queries)), col));
}

struct Saved {
  Tensor query, key, value, mask;
  AttentionParams params;
};

// Recomputes the probabilities; heads that share a key head are summed by giving them a dimension of their own.
Grads attention_backward(const Saved& saved, const Tensor& grad) {
  const int64_t batch = saved.query.dim(0), heads = saved.query.dim(1), queries = saved.query.dim(2);
  const int64_t kv_heads = saved.key.dim(1), keys = saved.key.dim(2), group = kv_heads ? heads / kv_heads : 0;
  const auto split = [&](const Tensor& x) { return reshape(x, {batch, kv_heads, group, queries, x.dim(-1)}); };
  const auto lone = [&](const Tensor& x) { return reshape(x, {batch, kv_heads, 1, keys, x.dim(-1)}); };
  const Tensor q = split(saved.query), g = split(grad), k = lone(saved.key), v = lone(saved.value);
  Tensor scores = mul(matmul(q, transpose(k, -1, -2)), saved.params.scale);
  if (saved.params.causal) scores = add(scores, causal_mask(queries, keys, grad.device()).to_dtype(scores.dtype()));
  if (saved.mask.defined()) {
    const Tensor mask = broadcast_view(kName, saved.mask, {batch, heads, queries, keys});
    scores = add(scores, reshape(mask, scores.shape()).to_dtype(scores.dtype()));
  }
  Tensor p = softmax(scores, -1);
  p = where(eq(p, p), p, scalar(0, p.dtype(), p.device()));  // rows that see nothing are NaN; they gave zeros
  const Tensor dp = matmul(g, transpose(v, -1, -2));
  const Tensor ds = mul(mul(p, sub(dp, sum(mul(dp, p), {-1}, true))), saved.params.scale);
  const Tensor dq = matmul(ds, k), dk = matmul(transpose(ds, -1, -2), q), dv = matmul(transpose(p, -1, -2), g);
  return {reshape(dq, saved.query.shape()), reshape(sum(dk, {2}), saved.key.shape()),
          reshape(sum(dv, {2}), saved.value.shape())};
}

void check_shapes(const Tensor& query, const Tensor& key, const Tensor& value) {
  check_rank(kName, "query", query, 4);
  check_rank(kName, "key", key, 4);
  check_rank(kName, "value", value, 4);
  const auto fail = [&](const std::string& what) {
    return Error(ErrorCode::kShape,
                 cat(kName, ": query ", query.shape(), ", key ", key.shape(), ", value ", value.shape(), ": ", what));
  };
  if (query.dim(0) != key.dim(0) || key.dim(0) != value.dim(0)) throw fail("batch sizes differ");
  if (query.dim(3) != key.dim(3)) throw fail("head sizes of query and key differ");
  if (query.dim(3) == 0) throw fail("the head size is 0");
  if (key.dim(1) != value.dim(1) || key.dim(2) != value.dim(2)) throw fail("key and value differ in heads or length");
  if (key.dim(1) == 0 || query.dim(1) % key.dim(1) != 0) throw fail("query heads are not a multiple of key heads");
}

}  // namespace

Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const AttentionOptions& options) {
  for (const Tensor* x : {&query, &key, &value}) check_float(kName, *x);
  check_same_device(kName, {&query, &key, &value, &options.mask});
  check_shapes(query, key, value);
  if (key.dtype() != query.dtype() || value.dtype() != query.dtype()) {
    throw Error(ErrorCode::kDType,
                cat(kName, ": query is ", query.dtype(), ", key ", key.dtype(), ", value ", value.dtype()));
  }
  const auto kernel = find_kernel(kName, query.device(), &KernelTable::attention);
  AttentionParams params;
  params.causal = options.causal;
  params.scale = options.scale.value_or(1.0f / std::sqrt(static_cast<float>(std::max<int64_t>(1, query.dim(3)))));
  Tensor mask;
  if (options.mask.defined()) {
    const Shape full{query.dim(0), query.dim(1), query.dim(2), key.dim(2)};
    mask = broadcast_view(kName, additive_mask(options.mask), full);
  }
  Tensor out = empty(query.shape().with(3, value.dim(3)), query.dtype(), query.device());
  kernel(query, key, value, mask, params, out);
  if (tracks(query, key, value)) {
    record(out, kName, {query, key, value},
           [saved = Saved{query, key, value, mask, params}](const Tensor& grad) -> Grads {
             return attention_backward(saved, grad);
           });
  }
  return out;
}

}  // namespace wick
