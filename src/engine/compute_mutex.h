#pragma once

#include "base/fair_mutex.h"

namespace wick {

// Whoever computes for long takes turns with the others: a pass uses all compute threads.
FairMutex& compute_mutex();

}  // namespace wick
