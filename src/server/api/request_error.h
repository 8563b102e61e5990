#pragma once

#include <string>
#include <utility>

#include "base/error.h"

namespace wick {

// A request that cannot be answered as it stands. `param` is the field at fault and `code` a word for programs, both
// as OpenAI's clients expect them; either may be empty.
class RequestError : public Error {
 public:
  RequestError(std::string param, const std::string& message, std::string code = "invalid_value", int status = 400)
      : Error(ErrorCode::kInvalidArgument, message),
        param_(std::move(param)),
        code_(std::move(code)),
        status_(status) {}

  const std::string& param() const { return param_; }
  const std::string& word() const { return code_; }
  int status() const { return status_; }

 private:
  std::string param_, code_;
  int status_;
};

}  // namespace wick
