#pragma once

// All of Wick that is for users of the library. The headers beside this one may be included on their own; what they are
// made of lies below detail/ and may change.
#include "wick/error.h"
#include "wick/speech.h"
#include "wick/tensor.h"
#include "wick/text.h"
