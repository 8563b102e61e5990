#include "nn/sinusoids.h"

#include <cmath>

#include "tensor/create.h"

namespace wick {

Tensor sinusoids(int64_t places, int64_t width, int64_t spread) {
  const int64_t half = width / 2;
  Tensor table = zeros({places, width});
  auto* row = table.mutable_data<float>();
  for (int64_t place = 0; place < places; ++place, row += width) {
    for (int64_t i = 0; i < half; ++i) {
      const double rate = std::exp(-std::log(10000.0) * static_cast<double>(i) / static_cast<double>(spread));
      row[i] = static_cast<float>(std::sin(static_cast<double>(place) * rate));
      row[half + i] = static_cast<float>(std::cos(static_cast<double>(place) * rate));
    }
  }
  return table;
}

}  // namespace wick
