#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "server/http/exchange.h"

namespace wick {

// The answer to a request that cannot become a web socket as it stands: 426 or 400 with a sentence; empty: it can.
std::optional<HttpResponse> web_socket_refusal(const HttpRequest& request, bool is_http10);
// The answer that makes a web socket of the connection. `protocol` is agreed on if the client offers it.
HttpResponse web_socket_acceptance(const HttpRequest& request, std::string_view protocol);

// The key of a page that cannot set header fields, from "Sec-WebSocket-Protocol: realtime,
// openai-insecure-api-key.KEY"; empty: there is none.
std::string_view protocol_key(const HttpRequest& request);

}  // namespace wick
