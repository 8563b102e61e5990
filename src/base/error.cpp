#include "base/error.h"

namespace wick {

std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::kShape: return "shape";
    case ErrorCode::kDType: return "dtype";
    case ErrorCode::kDevice: return "device";
    case ErrorCode::kBadFile: return "bad file";
    case ErrorCode::kUnsupported: return "unsupported";
    case ErrorCode::kIo: return "io";
    case ErrorCode::kInvalidArgument: return "invalid argument";
    case ErrorCode::kOutOfMemory: return "out of memory";
    case ErrorCode::kInternal: return "internal";
  }
  return "unknown";
}

}  // namespace wick
