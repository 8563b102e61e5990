#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace wick {

// Places that are not learned, f32 [places, width] on the host: sines, then cosines, whose i-th rate is
// 10000^(-i / spread). With a spread of width / 2 - 1 the wavelengths reach 10000 * 2 pi, with width / 2 (Marian) they
// end before it.
Tensor sinusoids(int64_t places, int64_t width, int64_t spread);

}  // namespace wick
