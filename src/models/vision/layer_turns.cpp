#include "models/vision/layer_turns.h"

namespace wick {
namespace {

thread_local LayerTurns* innermost = nullptr;

}  // namespace

LayerTurns::LayerTurns(FunctionRef<void()> turn) : turn_(turn), outer_(innermost) { innermost = this; }
LayerTurns::~LayerTurns() { innermost = outer_; }

void LayerTurns::take() {
  if (innermost) innermost->turn_();
}

}  // namespace wick
