#include "engine/compute_turn.h"

namespace wick {

// Never destroyed: the threads of models that live as long as the program may still compute when it ends.
FairMutex& compute_turn() {
  static FairMutex& turn = *new FairMutex;
  return turn;
}

}  // namespace wick
