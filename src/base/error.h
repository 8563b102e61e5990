#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace wick {

enum class ErrorCode {
  kShape,
  kDType,
  kDevice,
  kBadFile,
  kUnsupported,
  kIo,
  kInvalidArgument,
  kOutOfMemory,
  kInternal,
};

// "shape", "dtype", ...: the spelling used in JSON answers.
std::string_view to_string(ErrorCode code);

// The only exception the library throws. The message is one sentence that names the op, the file or the field
// and the facts, e.g. "matmul: [2, 3] x [4, 5]: inner dimensions 3 and 4 differ".
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ErrorCode code() const { return code_; }

 private:
  ErrorCode code_;
};

}  // namespace wick
