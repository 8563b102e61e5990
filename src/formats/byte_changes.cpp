#include "formats/byte_changes.h"

#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "formats/layout_copy.h"
#include "tensor/create.h"

namespace wick {
namespace {

using enum ByteChange;

Error contradiction(std::string_view name, const Tensor& x, std::string_view expected) {
  return {ErrorCode::kBadFile, cat(name, " is ", x.shape(), ", expected ", expected)};
}

void check_rank(std::string_view name, const Tensor& x, int rank) {
  if (x.rank() != rank) throw contradiction(name, x, cat(rank, " dimensions"));
}

// The rows of one head when `rows` are shared out over `heads`.
int64_t head_rows(std::string_view name, const Tensor& x, int64_t heads, int64_t multiple) {
  if (x.rank() < 1 || heads <= 0 || x.dim(0) % (heads * multiple) != 0) {
    throw contradiction(name, x, cat("rows that ", heads, " heads share"));
  }
  return x.dim(0) / heads;
}

Tensor rotary(const Tensor& x, int64_t heads, bool interleave, std::string_view name) {
  const int64_t dim = head_rows(name, x, heads, 2), half = dim / 2;
  return gather_rows(x, x.dim(0), [=](int64_t row) {
    const int64_t head = row / dim, i = row % dim;
    return head * dim + (interleave ? i % 2 * half + i / 2 : i % half * 2 + i / half);
  });
}

// HF keeps, per key head, its query heads, then the key, then the value; GGUF keeps all q, all k, all v.
Tensor fused_qkv(const Tensor& x, int64_t heads, int64_t kv_heads, bool apart, std::string_view name) {
  if (kv_heads <= 0 || heads % kv_heads != 0)
    throw contradiction(name, x, "a whole number of query heads per key head");
  const int64_t dim = head_rows(name, x, heads + 2 * kv_heads, 1), group = heads / kv_heads;
  return gather_rows(x, x.dim(0), [=](int64_t row) {
    const int64_t slot = row / dim, i = row % dim;  // slot: a head of the result
    int64_t from = 0;
    if (apart) {
      const bool query = slot < heads;
      const int64_t key_head = query ? slot / group : (slot - heads) % kv_heads;
      from = key_head * (group + 2) + (query ? slot % group : group + (slot - heads) / kv_heads);
    } else {
      const int64_t key_head = slot / (group + 2), part = slot % (group + 2);
      from = part < group ? key_head * group + part : heads + (part - group) * kv_heads + key_head;
    }
    return from * dim + i;
  });
}

template <typename Function>
Tensor mapped(const Tensor& x, std::string_view name, const Function& function) {
  if (!is_float(x.dtype())) throw Error(ErrorCode::kUnsupported, cat(name, " is ", x.dtype(), ", expected floats"));
  const Tensor whole = compact(x);
  Tensor out = empty(x.shape(), DType::kF32);
  float* to = out.mutable_data<float>();
  visit_dtype(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto* from = reinterpret_cast<const T*>(whole.raw());
    for (int64_t i = 0; i < x.numel(); ++i) to[i] = function(convert<float>(from[i]));
  });
  return out;
}

Tensor reshaped(const Tensor& x, const Shape& shape) {
  const Tensor whole = compact(x);
  const Layout plain = Layout::contiguous(shape);
  return whole.with_layout(Layout{plain.shape, plain.strides, whole.layout().offset});
}

Tensor transposed(const Tensor& x, std::string_view name) {
  if (x.rank() < 2) throw contradiction(name, x, "a matrix");
  return x.with_layout(x.layout().transpose(x.rank() - 2, x.rank() - 1));
}

// Every second slice of dimension `dim`, from `first` on: a view.
Tensor every_second(const Tensor& x, int dim, int64_t first, std::string_view name) {
  if (x.dim(dim) % 2 != 0) throw contradiction(name, x, cat("an even dimension ", dim));
  Layout layout = x.layout();
  layout.offset += first * layout.strides[dim];
  layout.strides[dim] *= 2;
  layout.shape = layout.shape.with(dim, layout.shape[dim] / 2);
  return x.with_layout(layout);
}

Tensor half_of(const Tensor& x, int64_t index, std::string_view name) {
  if (x.rank() < 2) throw contradiction(name, x, "a matrix");
  const int dim = x.rank() - 2;
  if (x.dim(dim) % 2 != 0) throw contradiction(name, x, cat("an even dimension ", dim));
  return narrow_rows(x, dim, index * (x.dim(dim) / 2), x.dim(dim) / 2);
}

// Per head, the rows of keys come before those of values; multiplying by keys the other way round wants them
// transposed.
Tensor latent(const Tensor& x, bool keys, const HeadCounts& counts, std::string_view name) {
  check_rank(name, x, 2);
  const int64_t dim = head_rows(name, x, counts.heads, 1), key = counts.latent_key_dim;
  if (key <= 0 || key >= dim) throw contradiction(name, x, cat("more than ", key, " rows per head"));
  const Tensor heads = reshaped(x, {counts.heads, dim, x.dim(1)});
  return keys ? transposed(narrow_rows(heads, 1, 0, key), name) : narrow_rows(heads, 1, key, dim - key);
}

float negative_exp(float value) { return -std::exp(value); }
float log_of_negative(float value) { return std::log(-value); }

}  // namespace

bool changes_values(ByteChange change) {
  return change == kPlusOne || change == kNegativeExp || change == kNegativeExpColumn;
}

Tensor to_hf(const Tensor& gguf, ByteChange change, const HeadCounts& counts, std::string_view name) {
  switch (change) {
    case kSame: return gguf;
    case kRotaryQuery: return rotary(gguf, counts.heads, false, name);
    case kRotaryKey: return rotary(gguf, counts.kv_heads, false, name);
    case kQkvPerHead: return fused_qkv(gguf, counts.heads, counts.heads, false, name);
    case kQkvPerGroup: return fused_qkv(gguf, counts.heads, counts.kv_heads, false, name);
    case kPlusOne: return mapped(gguf, name, [](float value) { return value - 1; });
    case kNegativeExp: return mapped(gguf, name, log_of_negative);
    case kNegativeExpColumn: return reshaped(mapped(gguf, name, log_of_negative), {gguf.numel()});
    case kColumn:
    case kGroupedRow: return reshaped(gguf, {gguf.numel()});
    case kTransposed: return transposed(gguf, name);
    case kDropMiddle: check_rank(name, gguf, 2); return reshaped(gguf, {gguf.dim(0), 1, gguf.dim(1)});
    default: throw Error(ErrorCode::kUnsupported, cat(name, " holds only a part of its Hugging Face tensor"));
  }
}

Tensor to_gguf(const Tensor& hf, ByteChange change, const HeadCounts& counts, std::string_view name) {
  switch (change) {
    case kSame: return hf;
    case kRotaryQuery: return rotary(hf, counts.heads, true, name);
    case kRotaryKey: return rotary(hf, counts.kv_heads, true, name);
    case kQkvPerHead: return fused_qkv(hf, counts.heads, counts.heads, true, name);
    case kQkvPerGroup: return fused_qkv(hf, counts.heads, counts.kv_heads, true, name);
    case kPlusOne: return mapped(hf, name, [](float value) { return value + 1; });
    case kNegativeExp: return mapped(hf, name, negative_exp);
    case kNegativeExpColumn: return reshaped(mapped(hf, name, negative_exp), {hf.numel(), 1});
    case kColumn: return reshaped(hf, {hf.numel(), 1});
    case kGroupedRow:
      if (counts.state_groups <= 0 || hf.numel() % counts.state_groups != 0) {
        throw contradiction(name, hf, cat("a multiple of ", counts.state_groups, " groups"));
      }
      return reshaped(hf, {counts.state_groups, hf.numel() / counts.state_groups});
    case kTransposed: return transposed(hf, name);
    case kDropMiddle:
      check_rank(name, hf, 3);
      if (hf.dim(1) != 1) throw contradiction(name, hf, "1 in the middle");
      return reshaped(hf, {hf.dim(0), hf.dim(2)});
    case kFirstHalf: return half_of(hf, 0, name);
    case kSecondHalf: return half_of(hf, 1, name);
    case kEvenOfTransposed:
    case kOddOfTransposed:
      check_rank(name, hf, 3);
      return every_second(transposed(hf, name), 1, change == kOddOfTransposed ? 1 : 0, name);
    case kFirstHalfOfTransposed: return half_of(transposed(hf, name), 0, name);
    case kSecondHalfOfTransposed: return half_of(transposed(hf, name), 1, name);
    case kEven:
    case kOdd: check_rank(name, hf, 2); return every_second(hf, 1, change == kOdd ? 1 : 0, name);
    case kLatentKeys: return latent(hf, true, counts, name);
    case kLatentValues: return latent(hf, false, counts, name);
  }
  return hf;
}

}  // namespace wick
