// Ollama's API: answers.
#include "base/utf8.h"
#include "server/api/api.h"
#include "server/api/completions/completion_request.h"
#include "server/api/json_copy.h"
#include "server/api/ollama/ollama_request.h"
#include "server/api/ollama/ollama_writer.h"

namespace wick {
namespace {

constexpr std::string_view kLatest = ":latest";

void check_thinks(const std::optional<OllamaThink>& think, const ResponseFormat& format, const std::string& model) {
  const bool can = !format.reasoning_close.empty() || format.tool_calls == ToolCallShape::kHarmony;
  if (!think || !think->on || can) return;
  throw RequestError("think", cat(in_quotes(model), " does not support thinking"), "unsupported_value");
}

// What both answers have in common.
OllamaAnswerOptions answer_options(const OllamaRequest& wanted, const TextEngine& engine,
                                   EngineClock::time_point asked) {
  OllamaAnswerOptions options;
  options.model = wanted.model;
  options.stream = wanted.stream;
  options.logprobs = wanted.logprobs;
  options.tokenizer = &engine.model().tokenizer();
  options.asked = asked;
  options.begun = EngineClock::now();
  return options;
}

}  // namespace

void Api::add_ollama_routes(Router& router) {
  const RouteOptions options{.error_form = ollama_error};
  add(router, "POST", "/api/chat", &Api::ollama_chat, options);
  add(router, "POST", "/api/generate", &Api::ollama_generate, options);
  add(router, "GET", "/api/tags", &Api::ollama_tags, options);
  add(router, "POST", "/api/show", &Api::ollama_show, options);
  add(router, "GET", "/api/ps", &Api::ollama_ps, options);
  add(router, "POST", "/api/embed", &Api::ollama_embed, options);
  add(router, "POST", "/api/embeddings", &Api::ollama_embeddings, options);
  add(router, "GET", "/api/version", &Api::ollama_version, options);
  for (const char* method : {"POST", "DELETE"}) add(router, method, "/api/{path}", &Api::ollama_other, options);
}

// Names may end with a tag, as Ollama's do.
std::string Api::ollama_model(const std::string& name) const {
  if (!name.ends_with(kLatest) || host_->has(name)) return name;
  return name.substr(0, name.size() - kLatest.size());
}

void Api::ollama_chat(const HttpRequest& request, const Exchange& exchange) {
  const auto asked = EngineClock::now();
  const OllamaChatRequest body = OllamaChatRequest::parse(json_body(request));
  if (body.messages.empty()) return ollama_load(body, exchange, true, request.caller);
  ChatRequest chat = body.as_chat();
  chat.model = ollama_model(body.model);
  fill_in(chat.model, chat);
  const auto wanted = keep_with_room(std::move(chat), request);
  converse(
      wanted, exchange, request.caller,
      [=, head = static_cast<const OllamaRequest&>(body)](const std::string&, ChatJob& job, const EngineRef& engine) {
        check_thinks(head.think, job.format, head.model);
        OllamaAnswerOptions options = answer_options(head, *engine, asked);
        options.format = job.format;
        options.tools = wanted->tool_list;
        return std::make_unique<OllamaWriter>(exchange, std::move(options));
      },
      body.keep_seconds());
}

void Api::ollama_generate(const HttpRequest& request, const Exchange& exchange) {
  const auto asked = EngineClock::now();
  const OllamaGenerateRequest body = OllamaGenerateRequest::parse(json_body(request));
  if (body.prompt.empty()) return ollama_load(body, exchange, false, request.caller);
  const OllamaRequest& head = body;
  if (body.raw) {
    CompletionRequest read = body.as_completion();
    fill_in(ollama_model(body.model), read);
    const auto wanted = keep_with_room(std::move(read), request);
    const auto answer = [=, this, caller = request.caller](const std::string& model, EngineRef engine) {
      std::vector<EngineRequest> jobs = make_completion_jobs(*wanted, *engine, grammars_);
      OllamaAnswerOptions options = answer_options(head, *engine, asked);
      options.is_chat = false;
      auto writer = std::make_unique<OllamaWriter>(exchange, std::move(options));
      run(model, std::move(engine), std::move(jobs), exchange, std::move(writer), asked, caller);
    };
    return with_engine(ollama_model(body.model), exchange, answer, {request.caller.name, body.keep_seconds()});
  }
  ChatRequest chat = body.as_chat();
  chat.model = ollama_model(body.model);
  fill_in(chat.model, chat);
  converse(
      keep_with_room(std::move(chat), request), exchange, request.caller,
      [=](const std::string&, ChatJob& job, const EngineRef& engine) {
        check_thinks(head.think, job.format, head.model);
        OllamaAnswerOptions options = answer_options(head, *engine, asked);
        options.is_chat = false;
        options.format = job.format;
        return std::make_unique<OllamaWriter>(exchange, std::move(options));
      },
      body.keep_seconds());
}

// Without a prompt.
void Api::ollama_load(const OllamaRequest& wanted, const Exchange& exchange, bool is_chat, const Caller& caller) {
  const auto answer_with = [=, name = wanted.model](const char* reason) {
    OrderedJson answer = {{"model", name}, {"created_at", ollama_time()}};
    if (is_chat) {
      answer["message"] = {{"role", "assistant"}, {"content", ""}};
    } else {
      answer["response"] = "";
    }
    answer.update({{"done_reason", reason}, {"done", true}});
    exchange->send(json_response(answer));
  };
  const std::string model = model_name(ollama_model(wanted.model));
  if (wanted.keep_seconds() == 0) {
    host_->let_go(model, caller.name);
    return answer_with("unload");
  }
  with_engine(model, exchange, [=](const std::string&, const EngineRef&) { answer_with("load"); },
              {caller.name, wanted.keep_seconds()});
}

void Api::ollama_other(const HttpRequest& request, const Exchange&) {
  throw RequestError({},
                     cat("there is nothing at ", in_quotes(request.path),
                         ": the models here are those that wick serve was started with"),
                     "not_found", 404);
}

}  // namespace wick
