#pragma once

#include "engine/response_format.h"
#include "engine/text_engine.h"
#include "server/api/chat_request.h"
#include "server/api/completion_request.h"
#include "server/api/grammar_cache.h"

namespace wick {

// A request of the chat API as the engine takes it, and what it takes to read the answer.
struct ChatJob {
  EngineRequest request;
  ResponseFormat format;
};

// Renders the template, compiles grammars and chooses the parameters. Throws RequestError, or Error(kInvalidArgument)
// when the template refuses the messages.
ChatJob make_chat_job(const ChatRequest& request, const TextEngine& engine, GrammarCache& grammars);
// One per prompt.
std::vector<EngineRequest> make_completion_jobs(const CompletionRequest& request, const TextEngine& engine,
                                                GrammarCache& grammars);

// The messages as templates want them.
jinja::Value template_messages(const std::vector<ChatMessage>& messages, const ChatTemplate& chat);

}  // namespace wick
