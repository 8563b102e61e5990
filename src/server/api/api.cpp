#include "server/api/api.h"
#include "server/api/generation/caller_share.h"

#include "base/utf8.h"
#include "server/api/chat/chat_job.h"
#include "server/api/chat/chat_writer.h"
#include "server/api/completions/completion_writer.h"
#include "server/api/json_copy.h"
#include "server/api/responses/responses_writer.h"
#include "server/heap_limits.h"
#include "server/http/error_response.h"

namespace wick {
namespace {

constexpr size_t kLargeBody = 1 << 20;

// A model that cannot be loaded is the server's fault, not the request's.
HttpResponse loading_error(const Error& error) {
  const bool full = error.code() == ErrorCode::kOutOfMemory;
  return error_response(full ? 503 : 500, error.what(), {}, "model", full ? "out_of_memory" : "model_failed");
}

HttpResponse shutting_down() { return error_response(503, "The server is shutting down.", {}, {}, "shutting_down"); }

}  // namespace

HttpResponse api_error_response(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const RequestError& known) {
    return error_response(known.status(), known.what(), {}, known.param(), known.word());
  } catch (...) {
    return error_response(error);
  }
}

Api::Api(std::shared_ptr<ModelHost> host, std::shared_ptr<Metrics> metrics, Parts parts)
    : host_(std::move(host)),
      metrics_(std::move(metrics)),
      api_metrics_(metrics_, host_),
      speech_(std::move(parts.speech)),
      judges_(std::move(parts.judges)),
      embedders_(std::move(parts.embedders)),
      adapters_(std::move(parts.adapters)),
      voices_(std::move(parts.voices)),
      live_(host_),
      say_(std::move(parts.say)),
      inspector_(std::move(parts.inspector)) {
  if (speech_) realtime_ = std::make_unique<Realtime>(host_, speech_, api_metrics_);
  if (!parts.journal) return;
  BackgroundHooks hooks;
  hooks.compute = [this](ResponsesRequest request, AnswerHead head, const std::string& owner, const Exchange& exchange,
                         BackgroundHooks::OnEvent on_event) {
    Caller caller;  // was let in with its limits when it asked
    caller.name = cat("key ", caller.key = owner);
    respond(std::make_shared<const ResponsesRequest>(std::move(request)), std::move(head), exchange, caller, {},
            std::move(on_event));
  };
  hooks.has_model = [this](const std::string& model) { return host_->has(model); };
  hooks.say = say_;
  background_ = std::make_unique<BackgroundQueue>(std::move(parts.journal), metrics_, std::move(hooks));
}

Api::~Api() {
  const std::lock_guard alone(gate_->mutex);
  gate_->is_open = false;
}

void Api::stop() {
  stopped_ = true;
  live_.stop();
  if (inspector_) inspector_->stop();
  if (background_) background_->stop();
}

void Api::add(Router& router, std::string method, std::string pattern,
              void (Api::*handle)(const HttpRequest&, const Exchange&), RouteOptions options) {
  router.add(
      std::move(method), std::move(pattern),
      [this, handle](const HttpRequest& request, const Exchange& exchange) {
        try {
          (this->*handle)(request, exchange);
        } catch (...) {
          exchange->send(api_error_response(std::current_exception()));
        }
        if (request.body.size() > kLargeBody) return_freed_memory();
      },
      options);
}

void Api::add_routes(Router& router) {
  const RouteOptions probe{.quick = true, .is_public = true};
  add(router, "POST", "/v1/chat/completions", &Api::chat);
  add(router, "POST", "/v1/completions", &Api::completions);
  add(router, "POST", "/v1/responses", &Api::responses);
  add(router, "GET", "/v1/responses/{id}", &Api::stored_response);
  add(router, "POST", "/v1/responses/{id}", &Api::cancel_response);  // behind the id stands /cancel
  add(router, "DELETE", "/v1/responses/{id}", &Api::delete_response);
  add(router, "POST", "/v1/audio/transcriptions", &Api::transcriptions);
  add(router, "POST", "/v1/audio/translations", &Api::translations);
  add(router, "POST", "/v1/audio/speech", &Api::speech);
  add(router, "GET", "/v1/audio/voices", &Api::voices);
  add(router, "GET", "/v1/models", &Api::list_models);
  add(router, "GET", "/v1/models/{id}", &Api::one_model);
  add(router, "GET", "/v1/engine", &Api::engine);
  add_inside_routes(router);
  add(router, "POST", "/v1/embeddings", &Api::embeddings);
  add(router, "POST", "/v1/rerank", &Api::rerank);
  add(router, "POST", "/v2/rerank", &Api::rerank);  // Cohere's
  add(router, "POST", "/v1/score", &Api::score);
  add(router, "POST", "/v1/classify", &Api::classify);
  add(router, "POST", "/v1/load_lora_adapter", &Api::load_adapter);
  add(router, "POST", "/v1/unload_lora_adapter", &Api::unload_adapter);
  add(router, "POST", "/tokenize", &Api::tokenize);
  add(router, "POST", "/detokenize", &Api::detokenize);
  add(router, "GET", "/metrics", &Api::metrics);
  add(router, "GET", "/health", &Api::health, probe);
  add(router, "GET", "/ready", &Api::ready, probe);
  add(router, "GET", "/openapi.json", &Api::openapi, {.is_public = true});
  add_ollama_routes(router);
  add_messages_routes(router);
  if (realtime_) realtime_->add_routes(router);
}

std::string Api::model_name(const std::string& model) const {
  const std::string& name = model.empty() ? host_->default_model() : model;
  if (host_->has(name)) return name;
  std::string known;
  for (const ModelStatus& status : host_->list()) known += cat(known.empty() ? "" : ", ", in_quotes(status.name));
  throw RequestError("model", cat("there is no model ", in_quotes(name), "; known are: ", known), "model_not_found",
                     404);
}

void Api::with_engine(const std::string& model, const Exchange& exchange, WithEngine callback, const KeepWish& keep) {
  if (stopped_) return exchange->send(shutting_down());
  const std::string name = model_name(model);
  host_->use(
      name,
      [name, exchange, gate = gate_, callback = std::move(callback)](EngineRef engine, const Error* error) {
        if (error) return exchange->send(loading_error(*error));
        const std::shared_lock inside(gate->mutex);
        if (!gate->is_open) return exchange->send(shutting_down());
        try {
          callback(name, std::move(engine));
        } catch (...) {  // on a thread of the host, which is to hear nothing of it
          exchange->send(api_error_response(std::current_exception()));
        }
      },
      keep);
}

void Api::run(const std::string& model, EngineRef engine, std::vector<EngineRequest> prompts, const Exchange& exchange,
              std::unique_ptr<AnswerWriter> writer, EngineClock::time_point asked, const Caller& caller) {
  if (auto refusal = out_of_tokens(caller)) return exchange->send(std::move(*refusal));
  for (EngineRequest& prompt : prompts) {
    compute_for(caller, prompt);
    use_adapter(host_->adapter_of(model), engine->model(), prompt);
  }
  const auto run =
      std::make_shared<AnswerRun>(std::move(engine), std::move(writer), api_metrics_.latency(model), asked, caller);
  run->start(std::move(prompts), *exchange);
}

void Api::converse(std::shared_ptr<const ChatRequest> wanted, const Exchange& exchange, const Caller& caller,
                   MakeWriter write, std::optional<double> keep_seconds) {
  const auto asked = EngineClock::now();
  const std::string name = wanted->model;
  with_engine(
      name, exchange,
      [=, this, wanted = std::move(wanted), write = std::move(write)](const std::string& model, EngineRef engine) {
        ChatJob job = make_chat_job(*wanted, *engine, grammars_, cache_salt_of(caller));
        auto writer = write(model, job, engine);
        std::vector<EngineRequest> prompts;
        prompts.push_back(std::move(job.request));
        run(model, std::move(engine), std::move(prompts), exchange, std::move(writer), asked, caller);
      },
      {caller.name, keep_seconds});
}

void Api::chat(const HttpRequest& request, const Exchange& exchange) {
  ChatRequest read = ChatRequest::parse(json_body(request));
  if (read.wick) check_may_inspect();
  fill_in(read.model, read);
  const auto wanted = keep_with_room(std::move(read), request);
  converse(wanted, exchange, request.caller,
           [=, this, key = request.caller.key](const std::string& model, ChatJob& job,
                                               const EngineRef& engine) -> std::unique_ptr<AnswerWriter> {
             ChatAnswerOptions options;
             options.head = make_answer_head("chatcmpl-", model);
             options.format = job.format;
             options.tools = wanted->tool_list;
             options.choices = wanted->n;
             options.one_call = !wanted->parallel_tool_calls;
             options.logprobs = wanted->logprobs;
             options.include_usage = wanted->stream_options && wanted->stream_options->include_usage;
             options.tokenizer = &engine->model().tokenizer();
             if (wanted->wick) options.inspect_end = inspect(*wanted->wick, job.request, options.head.id, key, engine);
             if (wanted->stream) return std::make_unique<ChatStream>(exchange, std::move(options));
             return std::make_unique<ChatWhole>(exchange, std::move(options));
           });
}

void Api::completions(const HttpRequest& request, const Exchange& exchange) {
  const auto asked = EngineClock::now();
  CompletionRequest read = CompletionRequest::parse(json_body(request));
  if (read.wick) check_may_inspect();
  fill_in(read.model, read);
  const auto wanted = keep_with_room(std::move(read), request);
  const auto answer = [=, this, caller = request.caller](const std::string& model, EngineRef engine) {
    const Tokenizer& tokenizer = engine->model().tokenizer();
    std::vector<EngineRequest> jobs = make_completion_jobs(*wanted, *engine, grammars_);
    CompletionAnswerOptions options;
    options.head = make_answer_head("cmpl-", model);
    options.prompts = std::ssize(jobs);
    options.choices = wanted->n;
    options.stream = wanted->stream;
    options.logprobs = wanted->logprobs.has_value();
    options.include_usage = wanted->stream_options && wanted->stream_options->include_usage;
    options.tokenizer = &tokenizer;
    if (wanted->wick && !wanted->wick->capture.empty() && jobs.size() > 1) {
      throw RequestError("wick.capture", cat("wick.capture is for one prompt, and there are ", jobs.size()));
    }
    for (EngineRequest& job : jobs) {
      if (wanted->wick) options.inspect_end = inspect(*wanted->wick, job, options.head.id, caller.key, engine);
    }
    for (size_t i = 0; wanted->echo && i < jobs.size(); ++i) {
      const auto* text = std::get_if<std::string>(&wanted->prompt.prompts[i]);
      options.echo.push_back(text ? *text : tokenizer.decode(jobs[i].prompt));
      if (!jobs[i].prompt.empty()) options.first_tokens.push_back(jobs[i].prompt.front());
    }
    auto writer = std::make_unique<CompletionWriter>(exchange, std::move(options));
    run(model, std::move(engine), std::move(jobs), exchange, std::move(writer), asked, caller);
  };
  with_engine(wanted->model, exchange, answer, {request.caller.name, {}});
}

void Api::responses(const HttpRequest& request, const Exchange& exchange) {
  const Json body = json_body(request);
  ResponsesRequest read = ResponsesRequest::parse(body);
  std::string whole_body = request.body;
  const bool keeps = (read.store || read.background) && request.body.size() <= responses_->most_each();
  OrderedJson items;
  if (keeps || read.previous_response_id) items = input_items(body.at("input"));
  if (read.previous_response_id) {
    OrderedJson all = conversation_of(request.caller, *read.previous_response_id);
    all.insert(all.end(), items.begin(), items.end());
    items = std::move(all);
    read.input.messages.clear();
    FieldKind<ResponsesInput>::read(to_json(items, "input"), "input", {}, read.input);
    OrderedJson continued = to_ordered(body);
    continued["input"] = items;
    if (read.background) whole_body = to_text(continued);
  }
  const std::string input = keeps ? to_text(items) : std::string();
  const auto wanted = keep_with_room(std::move(read), request);
  if (wanted->background) return accept_background(request, exchange, *wanted, std::move(whole_body), input);
  respond(wanted, make_answer_head("resp_", model_name(wanted->model)), exchange, request.caller, input);
}

void Api::respond(const std::shared_ptr<const ResponsesRequest>& wanted, AnswerHead head, const Exchange& exchange,
                  const Caller& caller, const std::string& input, BackgroundHooks::OnEvent on_event) {
  ChatRequest asked = wanted->as_chat();
  fill_in(asked.model, asked);
  const auto chat = std::make_shared<const ChatRequest>(std::move(asked));
  converse(chat, exchange, caller, [=, this](const std::string&, ChatJob& job, const EngineRef& engine) {
    ResponseSource source{job.request.params.sampling, &engine->model().tokenizer(), {}, on_event};
    if (!input.empty()) {
      source.keep = [=, store = responses_, id = head.id](const std::string& response) {
        store->keep(id, {caller.key, caller.name, input, response});
      };
    }
    return std::make_unique<ResponsesWriter>(exchange, head, *wanted, job.format, chat->tool_list, std::move(source));
  });
}

}  // namespace wick
