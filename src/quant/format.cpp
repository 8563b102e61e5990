#include "quant/format.h"

namespace wick {

const QuantFormat& quant_format(DType dtype) {
  throw Error(ErrorCode::kDType, cat(dtype, " is not a packed dtype"));
}

}  // namespace wick
