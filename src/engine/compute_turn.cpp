#include "engine/compute_turn.h"

namespace wick {

FairMutex& compute_turn() {
  static FairMutex turn;
  return turn;
}

}  // namespace wick
