#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "server/http/exchange.h"

namespace wick {

// How the body of a response is delimited.
enum class BodyFraming : uint8_t {
  kNone,     // the status allows no body
  kLength,   // Content-Length
  kChunks,   // Transfer-Encoding: chunked
  kToTheEnd  // of the connection; for HTTP/1.0
};

struct ResponseFacts {
  uint64_t request_id = 0;
  BodyFraming framing = BodyFraming::kLength;
  bool keep_alive = true;
};

// Status line and fields up to the blank line. Content-Length is that of response.body. Control characters in the
// handler's fields become blanks.
std::string response_head(const HttpResponse& response, const ResponseFacts& facts, const HttpFields& more_fields);

bool may_have_body(int status);

}  // namespace wick
