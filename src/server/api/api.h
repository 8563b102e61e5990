#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "server/api/answer_run.h"
#include "server/api/api_metrics.h"
#include "server/api/grammar_cache.h"
#include "server/api/live_state.h"
#include "server/http/router.h"
#include "server/metrics.h"
#include "server/model_host.h"

namespace wick {

// The server's API: OpenAI's chat, completions, responses and models, and Wick's own endpoints. Thread-safe. Must live
// longer than the HttpServer it answers for.
class Api {
 public:
  Api(std::shared_ptr<ModelHost> host, std::shared_ptr<Metrics> metrics);

  void add_routes(Router& router);
  // From now on, who asks for an answer is told that the server is going; streams of the live state end.
  void stop();

 private:
  using Exchange = std::shared_ptr<HttpExchange>;
  using EngineRef = ModelHost::EngineRef;
  using WithEngine = std::function<void(const std::string& model, EngineRef engine)>;

  // A route whose errors become answers.
  void add(Router& router, std::string method, std::string pattern,
           void (Api::*handle)(const HttpRequest&, const Exchange&), RouteOptions options = {});
  // Calls back once the model is there, or answers with the reason why it is not.
  void with_engine(const std::string& model, const Exchange& exchange, WithEngine callback);
  void run(const std::string& model, EngineRef engine, std::vector<EngineRequest> prompts, const Exchange& exchange,
           std::unique_ptr<AnswerWriter> writer, EngineClock::time_point asked);

  void chat(const HttpRequest& request, const Exchange& exchange);
  void completions(const HttpRequest& request, const Exchange& exchange);
  void responses(const HttpRequest& request, const Exchange& exchange);
  void list_models(const HttpRequest& request, const Exchange& exchange);
  void one_model(const HttpRequest& request, const Exchange& exchange);
  void tokenize(const HttpRequest& request, const Exchange& exchange);
  void detokenize(const HttpRequest& request, const Exchange& exchange);
  void health(const HttpRequest& request, const Exchange& exchange);
  void ready(const HttpRequest& request, const Exchange& exchange);
  void metrics(const HttpRequest& request, const Exchange& exchange);
  void engine(const HttpRequest& request, const Exchange& exchange);
  void openapi(const HttpRequest& request, const Exchange& exchange);

  std::shared_ptr<ModelHost> host_;
  std::shared_ptr<Metrics> metrics_;
  ApiMetrics api_metrics_;
  GrammarCache grammars_;
  std::atomic<bool> stopped_{false};
  LiveState live_;
};

// The body of a request. Throws RequestError when it is not JSON or has so many values that they would fill the memory.
Json json_body(const HttpRequest& request);
// The answer to an exception: that of a RequestError names the field at fault.
HttpResponse api_error_response(const std::exception_ptr& error);

}  // namespace wick
