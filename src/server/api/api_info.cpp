// The endpoints that tell about the server, its models and their tokens.
#include <cmath>

#include "base/utf8.h"
#include "server/api/api.h"
#include "server/api/chat/chat_job.h"
#include "server/api/generation/token_logprobs.h"
#include "server/api/json_copy.h"
#include "server/api/model_answers.h"
#include "server/api/openapi.h"
#include "server/api/token_requests.h"
#include "server/http/utc_time.h"

namespace wick {
namespace {

template <typename T>
HttpResponse json_answer(const T& value, int status = 200) {
  HttpResponse response;
  response.status = status;
  response.body = to_text(T::fields().write(value)) + "\n";
  return response;
}

// Anthropic's clients ask at the same paths.
bool is_for_anthropic(const HttpRequest& request) { return request.header("anthropic-version").has_value(); }

void describe_for_anthropic(OrderedJson& model) {
  const auto created = std::chrono::system_clock::time_point(std::chrono::seconds(model["created"].get<int64_t>()));
  model.update({{"type", "model"}, {"display_name", model["id"]}, {"created_at", utc_time(created, 0)}});
}

}  // namespace

void Api::list_models(const HttpRequest& request, const Exchange& exchange) {
  ModelListAnswer answer;
  for (const ModelStatus& status : host_->list()) answer.data.push_back(model_answer(status));
  for (ModelAnswer& model : other_answers()) answer.data.push_back(std::move(model));
  if (is_for_anthropic(request)) {
    OrderedJson json = ModelListAnswer::fields().write(answer);
    for (OrderedJson& model : json["data"]) describe_for_anthropic(model);
    json.update({{"has_more", false}, {"first_id", answer.data.front().id}, {"last_id", answer.data.back().id}});
    return exchange->send(json_response(json));
  }
  exchange->send(json_answer(answer));
}

std::vector<ModelAnswer> Api::other_answers() const {
  std::vector<ModelAnswer> answers;
  const auto add = [&](const auto& host, const char* task) {
    if (!host) return;
    for (const std::string& name : host->names()) {
      ModelAnswer& answer = answers.emplace_back();
      answer.id = name;
      answer.status = to_string(host->is_loaded(name) ? ModelState::kReady : ModelState::kUnloaded);
      answer.task = task;
    }
  };
  add(speech_, "transcription");
  add(voices_, "speech");
  add(embedders_, "embeddings");
  add(judges_, "classification");
  return answers;
}

void Api::one_model(const HttpRequest& request, const Exchange& exchange) {
  const std::string_view id = path_parameter(request.path, "/v1/models/{id}");
  std::vector<ModelAnswer> models = other_answers();
  for (const ModelStatus& status : host_->list()) models.push_back(model_answer(status));
  for (const ModelAnswer& model : models) {
    if (model.id != id) continue;
    OrderedJson json = ModelAnswer::fields().write(model);
    if (is_for_anthropic(request)) describe_for_anthropic(json);
    return exchange->send(json_response(json));
  }
  throw RequestError("model", cat("there is no model ", in_quotes(id)), "model_not_found", 404);
}

void Api::tokenize(const HttpRequest& request, const Exchange& exchange) {
  auto wanted = keep_with_room(TokenizeRequest::parse(json_body(request)), request);
  const auto defaults = host_->defaults_of(model_name(wanted->model));
  const auto answer_with = [wanted, exchange, defaults](const std::string&, const EngineRef& engine) {
    const TextModel& model = engine->model();
    TokenizeAnswer answer;
    if (wanted->messages) {
      if (!model.chat_template()) throw RequestError("messages", cat(model.name(), " has no chat template"));
      ChatRequest chat;
      chat.messages = *wanted->messages;
      chat.tools = wanted->tools;
      chat.tool_list = wanted->tool_list;
      if (defaults) defaults->fill(chat.messages);
      answer.tokens = chat_text(chat, model).prompt.tokens;
    } else {
      EncodeOptions options;
      options.add_special = wanted->add_special;
      answer.tokens = model.tokenizer().encode(*wanted->content, options);
    }
    if (wanted->with_pieces) answer.pieces.emplace();
    for (size_t i = 0; wanted->with_pieces && i < answer.tokens.size(); ++i) {
      answer.pieces->push_back(shown_token(answer.tokens[i], model.tokenizer()));
    }
    answer.count = std::ssize(answer.tokens);
    exchange->send(json_answer(answer));
  };
  with_engine(wanted->model, exchange, answer_with, {request.caller.name, {}});
}

void Api::detokenize(const HttpRequest& request, const Exchange& exchange) {
  auto wanted = keep_with_room(DetokenizeRequest::fields().read(json_body(request)), request);
  const auto answer_with = [wanted, exchange](const std::string&, const EngineRef& engine) {
    const Tokenizer& tokenizer = engine->model().tokenizer();
    for (size_t i = 0; i < wanted->tokens.size(); ++i) {
      if (tokenizer.has(wanted->tokens[i])) continue;
      const std::string place = cat("tokens[", i, "]");
      throw RequestError(place, cat(place, " is ", wanted->tokens[i], ", which is no token of the model"));
    }
    exchange->send(json_answer(DetokenizeAnswer{tokenizer.decode(wanted->tokens, wanted->skip_special)}));
  };
  with_engine(wanted->model, exchange, answer_with, {request.caller.name, {}});
}

void Api::health(const HttpRequest&, const Exchange& exchange) { exchange->send(json_answer(StatusAnswer{"ok", {}})); }

void Api::ready(const HttpRequest&, const Exchange& exchange) {
  if (stopped_) return exchange->send(json_answer(StatusAnswer{"stopping", "the server is shutting down"}, 503));
  const std::vector<ModelStatus> models = host_->list();
  for (const ModelStatus& model : models) {
    if (model.state == ModelState::kReady) return exchange->send(json_answer(StatusAnswer{"ready", {}}));
  }
  const ModelStatus& first = models.front();
  std::string reason = cat(in_quotes(first.name), " is not loaded; the first request loads it");
  if (first.state == ModelState::kLoading) {
    reason = cat(in_quotes(first.name), " is being loaded: ", std::llround(100 * first.progress), " %");
  } else if (first.state == ModelState::kFailed) {
    reason = first.error;
  }
  exchange->send(json_answer(StatusAnswer{std::string(to_string(first.state)), reason}, 503));
}

void Api::metrics(const HttpRequest&, const Exchange& exchange) {
  api_metrics_.look_at_engines();
  HttpResponse response;
  response.body = metrics_->text();
  response.content_type = Metrics::kContentType;
  exchange->send(std::move(response));
}

void Api::engine(const HttpRequest& request, const Exchange& exchange) {
  std::string model = host_->default_model();
  for (const auto& [name, value] : request.query) {
    if (name == "model") model = value;
  }
  if (!host_->has(model)) {
    throw RequestError("model", cat("there is no model ", in_quotes(model)), "model_not_found", 404);
  }
  live_.watch(std::move(model), exchange);
}

void Api::openapi(const HttpRequest&, const Exchange& exchange) {
  static const std::string document = openapi_document().dump(2) + "\n";
  HttpResponse response;
  response.body = document;
  exchange->send(std::move(response));
}

}  // namespace wick
