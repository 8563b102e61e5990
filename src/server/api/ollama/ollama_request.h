#pragma once

#include <optional>

#include "server/api/chat/chat_request.h"
#include "server/api/completions/completion_request.h"
#include "server/api/ollama/ollama_kinds.h"

namespace wick {

// What Ollama calls the parameters of a model.
struct OllamaOptions {
  std::optional<float> temperature, top_p, min_p, typical_p, repeat_penalty, presence_penalty, frequency_penalty;
  std::optional<int64_t> top_k, seed, num_predict, repeat_last_n;
  std::optional<MirostatSwitch> mirostat;
  std::optional<float> mirostat_tau, mirostat_eta;
  TextOrList stop;
  static const Fields<OllamaOptions>& fields();

  void apply_to(ChoicesRequest& request) const;
  // Empty: until the text ends.
  std::optional<int64_t> most_tokens() const;
};

struct OllamaCallFunction {
  std::string name;
  Json arguments;
  static const Fields<OllamaCallFunction>& fields();
};
struct OllamaCall {
  std::optional<std::string> id;
  OllamaCallFunction function;
  static const Fields<OllamaCall>& fields();
};
struct OllamaMessage {
  std::string role, content;
  std::optional<std::string> thinking, tool_name, tool_call_id;
  std::vector<OllamaCall> tool_calls;
  OllamaImages images;
  static const Fields<OllamaMessage>& fields();
};

// What both requests for an answer have.
struct OllamaRequest {
  std::string model;
  bool stream = true;
  OllamaFormat format;
  OllamaOptions options;
  std::optional<OllamaThink> think;
  std::optional<OllamaKeepAlive> keep_alive;
  bool logprobs = false;
  std::optional<int64_t> top_logprobs;
  bool truncate = true;
  static const Fields<OllamaRequest>& fields();
  std::optional<double> keep_seconds() const { return keep_alive ? std::optional(keep_alive->seconds) : std::nullopt; }

 protected:
  void apply_to(ChatRequest& request) const;
};

// POST /api/chat.
struct OllamaChatRequest : OllamaRequest {
  std::vector<OllamaMessage> messages;  // none: only load the model
  std::vector<ToolRequest> tools;
  Json tool_list;  // as they came; null when there are none

  static const Fields<OllamaChatRequest>& fields();
  static OllamaChatRequest parse(const Json& body);  // throws RequestError
  ChatRequest as_chat() const;
};

// POST /api/generate.
struct OllamaGenerateRequest : OllamaRequest {
  std::string prompt, suffix, system;  // no prompt: only load the model
  std::optional<std::string> prompt_template;
  OllamaImages images;
  bool raw = false;  // the prompt goes to the model as it is

  static const Fields<OllamaGenerateRequest>& fields();
  static OllamaGenerateRequest parse(const Json& body);  // throws RequestError
  ChatRequest as_chat() const;
  CompletionRequest as_completion() const;  // raw
};

// POST /api/embed, and the older /api/embeddings, which has a prompt.
struct OllamaEmbedRequest {
  std::string model;
  TextOrList input;
  std::string prompt;
  bool truncate = true;
  std::optional<int64_t> dimensions;
  std::optional<OllamaKeepAlive> keep_alive;
  static const Fields<OllamaEmbedRequest>& fields();
};

// POST /api/show.
struct OllamaShowRequest {
  std::optional<std::string> model, name;  // the older name of model
  static const Fields<OllamaShowRequest>& fields();
};

}  // namespace wick
