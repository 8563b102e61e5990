#pragma once

#include <atomic>
#include <utility>

namespace wick {

// Intrusive shared pointer: T has retain() and release(). Half the size of shared_ptr and no control block, so that
// a tensor made inside an arena needs no heap allocation.
template <typename T>
class Ref {
 public:
  Ref() = default;
  // Takes over the one reference a new object is born with.
  static Ref adopt(T* object) {
    Ref ref;
    ref.object_ = object;
    return ref;
  }
  Ref(const Ref& other) : object_(other.object_) {
    if (object_) object_->retain();
  }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_) object_->release();
  }

  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }
  // Gives up the reference without releasing it.
  T* leak() { return std::exchange(object_, nullptr); }

 private:
  T* object_ = nullptr;
};

// The counter behind Ref.
class RefCount {
 public:
  void retain() { count_.fetch_add(1, std::memory_order_relaxed); }
  // True when the last reference went away.
  bool release() { return count_.fetch_sub(1, std::memory_order_acq_rel) == 1; }
  int value() const { return count_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int> count_{1};
};

}  // namespace wick
