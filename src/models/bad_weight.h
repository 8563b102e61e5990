#pragma once

#include <string>

#include "formats/checkpoint.h"

namespace wick {

// "tensor 'x' has nan at index 7": the first weight of the files that is not a finite number; empty when all are. Reads
// every byte, so it is for finding out why logits went wrong.
std::string describe_bad_weight(const Checkpoint& checkpoint);

}  // namespace wick
