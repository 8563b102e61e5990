#pragma once

#include "base/function_ref.h"

namespace wick {

// While one lives on a thread, `turn` is called behind each layer of a vision encoder that runs there: a large picture
// takes long, and others may compute in between.
class LayerTurns {
 public:
  explicit LayerTurns(FunctionRef<void()> turn);
  ~LayerTurns();
  LayerTurns(const LayerTurns&) = delete;
  LayerTurns& operator=(const LayerTurns&) = delete;

  static void take();  // by the encoder

 private:
  FunctionRef<void()> turn_;
  LayerTurns* outer_;
};

}  // namespace wick
