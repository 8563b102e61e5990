#pragma once

#include "engine/request.h"
#include "engine/text/text_model.h"
#include "server/http/clients/caller.h"
#include "server/http/exchange.h"

namespace wick {

// Only requests of one salt share what is computed; empty: those of everybody.
std::string cache_salt_of(const Caller& caller);

// Has the engine compute a request for this caller: as one of its clients, and with a prefix cache of its own. Throws
// RequestError for a priority that its key may not ask for.
void compute_for(const Caller& caller, EngineRequest& request);
// Has the engine use the adapter of that name; "": those that all requests have. Throws RequestError.
void use_adapter(const std::string& name, const TextModel& model, EngineRequest& request);
// The answer for a caller who has no tokens left to spend; empty: there are some.
std::optional<HttpResponse> out_of_tokens(const Caller& caller);
void spend_tokens(const Caller& caller, int64_t tokens);

}  // namespace wick
