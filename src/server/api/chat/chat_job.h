#pragma once

#include "engine/text/chat_prompt.h"
#include "engine/text/response_format.h"
#include "engine/text/text_engine.h"
#include "server/api/chat/chat_request.h"
#include "server/api/completions/completion_request.h"
#include "server/api/generation/grammar_cache.h"

namespace wick {

// A request of the chat API as the engine takes it, and what it takes to read the answer.
struct ChatJob {
  EngineRequest request;
  ResponseFormat format;
};

// Renders the template, compiles grammars and chooses the parameters. Throws RequestError, or Error(kInvalidArgument)
// when the template refuses the messages.
// `salt`: only requests of one salt share what is encoded of pictures.
ChatJob make_chat_job(const ChatRequest& request, const TextEngine& engine, GrammarCache& grammars,
                      std::string_view salt = {});
// One per prompt.
std::vector<EngineRequest> make_completion_jobs(const CompletionRequest& request, const TextEngine& engine,
                                                GrammarCache& grammars);

// What the model is to read.
struct ChatText {
  ChatPrompt prompt;
  bool offers_tools = false;
  bool is_reasoning_off = false;
};
// With `most`, there are no more tokens than it takes to see that there are more. Throws as make_chat_job() does.
ChatText chat_text(const ChatRequest& request, const TextModel& model, std::optional<int64_t> most = {},
                   std::string_view salt = {});

// The messages as templates want them.
jinja::Value template_messages(const std::vector<ChatMessage>& messages, const ChatTemplate& chat);

}  // namespace wick
