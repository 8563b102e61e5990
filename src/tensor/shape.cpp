#include "tensor/shape.h"

#include <algorithm>

#include "base/checked.h"
#include "base/error.h"
#include "base/text.h"

namespace wick {
namespace {

std::string join(std::span<const int64_t> dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) text += cat(i ? ", " : "", dims[i]);
  return text + "]";
}

}  // namespace

Shape::Shape(std::span<const int64_t> dims) {
  if (dims.size() > kMaxRank) {
    throw Error(ErrorCode::kShape, cat("shape: ", join(dims), " has rank ", dims.size(), ", the most is ", kMaxRank));
  }
  // The product ignores zeros, so that [0, huge, huge] cannot overflow later either.
  int64_t product = 1;
  bool empty = false;
  for (const int64_t size : dims) {
    if (size < 0) throw Error(ErrorCode::kShape, cat("shape: ", join(dims), " has the negative size ", size));
    if (size == 0) {
      empty = true;
      continue;
    }
    const auto next = checked_mul(product, size);
    if (!next) throw Error(ErrorCode::kShape, cat("shape: ", join(dims), " has more elements than 63 bits can count"));
    product = *next;
  }
  std::copy(dims.begin(), dims.end(), dims_.begin());
  rank_ = static_cast<int>(dims.size());
  numel_ = empty ? 0 : product;
}

Shape Shape::with(int dim, int64_t size) const {
  auto dims = dims_;
  dims[dim] = size;
  return Shape(std::span<const int64_t>(dims.data(), rank_));
}

Shape Shape::without(int dim) const {
  std::array<int64_t, kMaxRank> dims{};
  int count = 0;
  for (int i = 0; i < rank_; ++i) {
    if (i != dim) dims[count++] = dims_[i];
  }
  return Shape(std::span<const int64_t>(dims.data(), count));
}

Shape Shape::inserted(int dim, int64_t size) const {
  std::array<int64_t, kMaxRank + 1> dims{};
  std::copy(begin(), begin() + dim, dims.begin());
  dims[dim] = size;
  std::copy(begin() + dim, end(), dims.begin() + dim + 1);
  return Shape(std::span<const int64_t>(dims.data(), rank_ + 1));
}

bool Shape::operator==(const Shape& other) const { return std::equal(begin(), end(), other.begin(), other.end()); }

std::string to_string(const Shape& shape) { return join(shape.dims()); }

int normalize_dim(const char* op, int64_t dim, int rank) {
  const int64_t from_front = dim < 0 ? dim + rank : dim;
  if (from_front < 0 || from_front >= rank) {
    throw Error(ErrorCode::kInvalidArgument, cat(op, ": dimension ", dim, " of a tensor of rank ", rank));
  }
  return static_cast<int>(from_front);
}

}  // namespace wick
