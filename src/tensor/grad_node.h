#pragma once

#include "base/ref.h"

namespace wick {

// What a tensor that needs a gradient carries: its place in the graph that backward() walks. The graph itself is
// ops/autograd.h; the tensor only keeps it alive.
class GradNode {
 public:
  virtual ~GradNode() = default;
  void retain() { count_.retain(); }
  void release() {
    if (count_.release()) destroy();
  }

 protected:
  GradNode() = default;
  virtual void destroy() = 0;  // deletes this; iterative, so that long chains do not overflow the stack

 private:
  RefCount count_;
};

}  // namespace wick
