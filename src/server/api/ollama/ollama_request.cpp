#include "server/api/ollama/ollama_request.h"

#include "server/api/chat/shown_pictures.h"
#include "server/api/json_copy.h"

namespace wick {
namespace {

// Pictures, then the text.
TextContent content_of(const std::string& text, const OllamaImages& images) {
  TextContent content{text};
  for (const std::string& image : images.list) {
    content.parts.push_back({ContentPart::Kind::kImage, cat("data:image;base64,", image)});
  }
  if (!images.list.empty()) content.parts.push_back({ContentPart::Kind::kText, text});
  return content;
}

constexpr int64_t kUsualWindow = 64;  // of the penalties, in Ollama

void check_stops(const OllamaOptions& options) {
  if (std::ssize(options.stop.texts) <= kMostStops) return;
  throw RequestError("options.stop",
                     cat("options.stop has ", options.stop.texts.size(), " texts, allowed are ", kMostStops));
}

}  // namespace

const Fields<OllamaOptions>& OllamaOptions::fields() {
  using R = OllamaOptions;
  static const Fields<R> fields =
      Fields<R>("OllamaOptions", BodyUse::kRequest)
          .add("temperature", &R::temperature, "0: always the most likely token; higher: bolder.")
          .range(0, 2)
          .add("top_k", &R::top_k, "Only this many of the most likely tokens; 0: all.")
          .range(-1)
          .add("top_p", &R::top_p, "Only the most likely tokens whose probabilities add up to this.")
          .range(0, 1)
          .add("min_p", &R::min_p, "Only tokens this likely relative to the most likely one.")
          .range(0, 1)
          .add("typical_p", &R::typical_p, "Only the most typical tokens that add up to this.")
          .range(0, 1)
          .add("seed", &R::seed, "The same seed gives the same answer; below 0: a random one.")
          .add("num_predict", &R::num_predict, "At most this many tokens; below 1: until the text ends.")
          .range(-2)
          .add("stop", &R::stop, "Texts that end the answer; they are not part of it.")
          .add("repeat_penalty", &R::repeat_penalty, "Above 1: tokens seen before become less likely.")
          .range(0.01, 10)
          .add("repeat_last_n", &R::repeat_last_n, "How many of the last tokens count as seen; -1: all.")
          .range(-1)
          .add("presence_penalty", &R::presence_penalty, "Off a token's logit once it was generated.")
          .range(-2, 2)
          .add("frequency_penalty", &R::frequency_penalty, "Off a token's logit per time it was generated.")
          .range(-2, 2)
          .add("mirostat", &R::mirostat, "2: aim at a steady surprise.")
          .add("mirostat_tau", &R::mirostat_tau, "The surprise aimed at, in bits per token.")
          .range(0, 100)
          .add("mirostat_eta", &R::mirostat_eta, "How fast it learns.")
          .range(0, 1);
  return fields;
}

void OllamaOptions::apply_to(ChoicesRequest& request) const {
  request.temperature = temperature;
  request.top_p = top_p;
  request.min_p = min_p;
  request.typical_p = typical_p;
  if (top_k) request.top_k = std::max<int64_t>(*top_k, 0);
  if (seed && *seed >= 0) request.seed = seed;
  request.repetition_penalty = repeat_penalty;
  request.presence_penalty = presence_penalty;
  request.frequency_penalty = frequency_penalty;
  request.penalty_window = repeat_last_n;
  if (!repeat_last_n && (repeat_penalty || presence_penalty || frequency_penalty)) {
    request.penalty_window = kUsualWindow;
  }
  request.mirostat = mirostat;
  request.mirostat_tau = mirostat_tau;
  request.mirostat_eta = mirostat_eta;
  request.stop = stop;
}

std::optional<int64_t> OllamaOptions::most_tokens() const {
  return num_predict && *num_predict > 0 ? num_predict : std::nullopt;
}

const Fields<OllamaCallFunction>& OllamaCallFunction::fields() {
  using R = OllamaCallFunction;
  static const Fields<R> fields = Fields<R>("OllamaFunctionCall", BodyUse::kRequest)
                                      .add("name", &R::name, "Which function.")
                                      .required()
                                      .add("arguments", &R::arguments, "An object.");
  return fields;
}

const Fields<OllamaCall>& OllamaCall::fields() {
  using R = OllamaCall;
  static const Fields<R> fields = Fields<R>("OllamaToolCall", BodyUse::kRequest)
                                      .add("id", &R::id, "What the answer of the tool refers to.")
                                      .add("function", &R::function, "The call.")
                                      .required();
  return fields;
}

const Fields<OllamaMessage>& OllamaMessage::fields() {
  using R = OllamaMessage;
  static const Fields<R> fields = Fields<R>("OllamaMessage", BodyUse::kRequest)
                                      .add("role", &R::role, "Who speaks.")
                                      .required()
                                      .words({"system", "user", "assistant", "tool"})
                                      .add("content", &R::content, "What is said.")
                                      .add("thinking", &R::thinking, "Of the assistant: what it thought.")
                                      .add("tool_calls", &R::tool_calls, "Of the assistant: the calls it made.")
                                      .add("tool_name", &R::tool_name, "Of a tool: which one.")
                                      .add("tool_call_id", &R::tool_call_id, "Of a tool: the call that this answers.")
                                      .add("images", &R::images, "Pictures in base64, shown before the text.");
  return fields;
}

const Fields<OllamaRequest>& OllamaRequest::fields() {
  using R = OllamaRequest;
  static const Fields<R> fields =
      Fields<R>("OllamaRequest", BodyUse::kRequest)
          .add("model", &R::model, "Which model answers; it may end with :latest.")
          .required()
          .add("stream", &R::stream, "Send the answer while it is generated, a line of JSON for each part.")
          .add("format", &R::format, "json: a JSON object; or a JSON Schema that the answer satisfies.")
          .add("options", &R::options, "How tokens are chosen.")
          .add("think", &R::think, "Whether the model is to think first, for those that do.")
          .add("keep_alive", &R::keep_alive, "How long the model is to stay for this client; 0: not longer.")
          .add("logprobs", &R::logprobs, "Send the log-probability of each token.")
          .add("top_logprobs", &R::top_logprobs, "And of this many of the likeliest in its place.")
          .range(0, kMostTopLogprobs)
          .add("truncate", &R::truncate, "Leave out the oldest turns of what is longer than the context.");
  return fields;
}

void OllamaRequest::apply_to(ChatRequest& request) const {
  request.model = model;
  request.stream = stream;
  options.apply_to(request);
  request.max_completion_tokens = options.most_tokens();
  request.response_format = format.format;
  if (think) {
    request.enable_thinking = think->on;
    request.reasoning_effort = think->effort;
  }
  request.logprobs = logprobs || top_logprobs.value_or(0) > 0;
  request.top_logprobs = top_logprobs;
  request.truncates = truncate;
}

const Fields<OllamaChatRequest>& OllamaChatRequest::fields() {
  using R = OllamaChatRequest;
  static const Fields<R> fields = Fields<R>("OllamaChatRequest", BodyUse::kRequest)
                                      .add_all(OllamaRequest::fields())
                                      .add("messages", &R::messages, "The conversation so far; none: load the model.")
                                      .add("tools", &R::tools, "Functions that the model may call.");
  return fields;
}

OllamaChatRequest OllamaChatRequest::parse(const Json& body) {
  OllamaChatRequest request = fields().read(body);
  check_stops(request.options);
  if (!request.tools.empty()) request.tool_list = *body.find("tools");
  return request;
}

ChatRequest OllamaChatRequest::as_chat() const {
  ChatRequest chat;
  apply_to(chat);
  for (const OllamaMessage& from : messages) {
    ChatMessage& message = chat.messages.emplace_back();
    message.role = from.role;
    message.content = content_of(from.content, from.images);
    message.reasoning_content = from.thinking;
    message.name = from.tool_name;
    message.tool_call_id = from.tool_call_id;
    for (const OllamaCall& call : from.tool_calls) {
      const Json& arguments = call.function.arguments;
      const std::string text = arguments.is_object() ? to_text(to_ordered(arguments)) : "{}";
      message.tool_calls.push_back({call.id, "function", {call.function.name, text}});
    }
  }
  chat.tools = tools;
  chat.tool_list = tool_list;
  check_messages(chat.messages, "messages");
  decode_shown(chat.messages, "messages");
  return chat;
}

const Fields<OllamaGenerateRequest>& OllamaGenerateRequest::fields() {
  using R = OllamaGenerateRequest;
  static const Fields<R> fields = Fields<R>("OllamaGenerateRequest", BodyUse::kRequest)
                                      .add_all(OllamaRequest::fields())
                                      .add("prompt", &R::prompt, "What is answered; none: load the model.")
                                      .add("system", &R::system, "The system message.")
                                      .add("raw", &R::raw, "The prompt is continued as it is, without a chat template.")
                                      .add("suffix", &R::suffix, "Only empty.")
                                      .add("template", &R::prompt_template, "Only empty.")
                                      .add("images", &R::images, "Pictures in base64, shown before the text.")
                                      .refuse("context", "send the conversation so far to /api/chat");
  return fields;
}

OllamaGenerateRequest OllamaGenerateRequest::parse(const Json& body) {
  OllamaGenerateRequest request = fields().read(body);
  check_stops(request.options);
  const auto refuse = [](const char* field, const char* reason) {
    throw RequestError(field, cat(field, " is not supported: ", reason), "unsupported_parameter");
  };
  if (!request.suffix.empty()) refuse("suffix", "Wick continues texts and does not fill gaps");
  if (request.prompt_template && !request.prompt_template->empty()) {
    refuse("template", "the chat template is the model's own; use raw for a text of your own");
  }
  if (request.raw && !request.images.list.empty()) refuse("images", "not with raw");
  if (request.raw && !request.system.empty()) refuse("system", "with raw, write it into the prompt");
  if (request.raw && request.format.format.type != "text") refuse("format", "not with raw");
  return request;
}

ChatRequest OllamaGenerateRequest::as_chat() const {
  ChatRequest chat;
  apply_to(chat);
  const auto say = [&](const char* role, TextContent content) {
    ChatMessage& message = chat.messages.emplace_back();
    message.role = role;
    message.content = std::move(content);
  };
  if (!system.empty()) say("system", TextContent{system});
  say("user", content_of(prompt, images));
  decode_shown(chat.messages, "messages");
  return chat;
}

CompletionRequest OllamaGenerateRequest::as_completion() const {
  CompletionRequest completion;
  completion.model = model;
  completion.stream = stream;
  options.apply_to(completion);
  completion.max_tokens = options.most_tokens().value_or(-1);
  completion.prompt.prompts = {prompt};
  if (logprobs) completion.logprobs = top_logprobs.value_or(0);
  return completion;
}

const Fields<OllamaEmbedRequest>& OllamaEmbedRequest::fields() {
  using R = OllamaEmbedRequest;
  static const Fields<R> fields =
      Fields<R>("OllamaEmbedRequest", BodyUse::kRequest)
          .add("model", &R::model, "Which model; it may end with :latest.")
          .required()
          .add("input", &R::input, "A text, or several.")
          .add("prompt", &R::prompt, "Of /api/embeddings: the text.")
          .add("truncate", &R::truncate, "Cut texts that are longer than the model reads; else they are refused.")
          .add("dimensions", &R::dimensions, "Only so many numbers, for models trained so.")
          .range(1)
          .add("keep_alive", &R::keep_alive, "Changes nothing: models stay loaded.");
  return fields;
}

const Fields<OllamaShowRequest>& OllamaShowRequest::fields() {
  using R = OllamaShowRequest;
  static const Fields<R> fields = Fields<R>("OllamaShowRequest", BodyUse::kRequest)
                                      .add("model", &R::model, "Which model; it may end with :latest.")
                                      .add("name", &R::name, "The older name of model.");
  return fields;
}

}  // namespace wick
