#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace wick {

inline constexpr int kMaxRank = 8;

// Sizes of a tensor's dimensions, outermost first; stored inline, so copying never allocates.
// Constructing one checks it: rank at most 8, no negative size, and an element count that fits 63 bits.
class Shape {
 public:
  Shape() = default;  // a scalar: rank 0, one element
  Shape(std::initializer_list<int64_t> dims) : Shape(std::span(dims.begin(), dims.size())) {}
  explicit Shape(std::span<const int64_t> dims);

  int rank() const { return rank_; }
  int64_t operator[](int dim) const { return dims_[dim]; }
  int64_t back() const { return dims_[rank_ - 1]; }
  int64_t numel() const { return numel_; }
  std::span<const int64_t> dims() const { return {dims_.data(), static_cast<size_t>(rank_)}; }
  const int64_t* begin() const { return dims_.data(); }
  const int64_t* end() const { return dims_.data() + rank_; }

  // Copies with one dimension replaced, removed or added.
  Shape with(int dim, int64_t size) const;
  Shape without(int dim) const;
  Shape inserted(int dim, int64_t size) const;

  bool operator==(const Shape& other) const;

 private:
  std::array<int64_t, kMaxRank> dims_{};
  int rank_ = 0;
  int64_t numel_ = 1;
};

// "[2, 3]"; "[]" for a scalar.
std::string to_string(const Shape& shape);

// Turns a dimension counted from the end (-1 is the last) into one counted from the front.
// Throws Error(kInvalidArgument) naming the op when there is no such dimension.
int normalize_dim(const char* op, int64_t dim, int rank);

}  // namespace wick
