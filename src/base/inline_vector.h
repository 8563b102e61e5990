#pragma once

#include <array>
#include <cstddef>
#include <span>

namespace wick {

// Up to kCapacity values stored in place: lists of dimensions that must not touch the heap. The caller keeps to the
// capacity (ranks are checked before).
template <typename T, size_t kCapacity>
class InlineVector {
 public:
  void push_back(const T& value) { values_[size_++] = value; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](size_t i) { return values_[i]; }
  const T& operator[](size_t i) const { return values_[i]; }
  const T* begin() const { return values_.data(); }
  const T* end() const { return values_.data() + size_; }
  operator std::span<const T>() const { return {values_.data(), size_}; }  // NOLINT(google-explicit-constructor)

 private:
  std::array<T, kCapacity> values_{};
  size_t size_ = 0;
};

}  // namespace wick
