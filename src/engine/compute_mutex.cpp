#include "engine/compute_mutex.h"

namespace wick {

// Never destroyed: the threads of models that live as long as the program may still compute when it ends.
FairMutex& compute_mutex() {
  static FairMutex& mutex = *new FairMutex;
  return mutex;
}

}  // namespace wick
