#pragma once

#include <exception>
#include <string_view>

#include "server/http/exchange.h"

namespace wick {

// An error as OpenAI's API writes it: {"error": {"message", "type", "param", "code"}}. An empty type is the usual one
// of the status ("invalid_request_error" below 500); empty param and code are null. Bytes that are not UTF-8 are
// replaced.
HttpResponse error_response(int status, std::string_view message, std::string_view type = {},
                            std::string_view param = {}, std::string_view code = {});

// The message and the type of such an answer.
std::string error_message(const HttpResponse& error);
std::string error_type(const HttpResponse& error);

// The answer to an exception of a handler: what the client sent is 400, too little memory 503, everything else 500.
HttpResponse error_response(const std::exception_ptr& error);

}  // namespace wick
