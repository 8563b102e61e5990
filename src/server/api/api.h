#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <shared_mutex>
#include <string>

#include "server/api/api_metrics.h"
#include "server/api/background/background_queue.h"
#include "server/api/chat/chat_job.h"
#include "server/api/generation/answer_run.h"
#include "server/api/generation/grammar_cache.h"
#include "server/api/generation/request_defaults.h"
#include "server/api/microscope/live_state.h"
#include "server/api/model_answers.h"
#include "server/api/realtime/realtime.h"
#include "server/api/request_error.h"
#include "server/api/responses/response_store.h"
#include "server/encoder_hosts.h"
#include "server/http/router.h"
#include "server/inspector.h"
#include "server/metrics.h"
#include "server/model_host.h"
#include "server/speech_host.h"
#include "server/voice_host.h"

namespace wick {

struct OllamaRequest;

// The server's API: OpenAI's chat, completions, responses and models, Ollama's and Anthropic's, and Wick's own
// endpoints. Thread-safe. Must live longer than the HttpServer it answers for.
class Api {
 public:
  // What a server need not have.
  struct Parts {
    std::shared_ptr<Journal> journal;             // responses can be computed in the background
    std::shared_ptr<SpeechHost> speech;           // sound is written down, and there are realtime sessions
    std::shared_ptr<JudgeHost> judges;            // texts are ranked and classified
    std::shared_ptr<EmbedHost> embedders;         // texts become vectors
    std::unique_ptr<Inspector> inspector;         // clients may look into models and change what they compute
    std::function<void(const std::string&)> say;  // hears what whoever runs the server should know
    std::filesystem::path adapters = {};          // a folder whose adapters clients may load; empty: none
    std::shared_ptr<VoiceHost> voices = {};       // texts are spoken
  };
  Api(std::shared_ptr<ModelHost> host, std::shared_ptr<Metrics> metrics, Parts parts);
  ~Api();  // whoever still waits for a model is told that the server is going
  Api(const Api&) = delete;
  Api& operator=(const Api&) = delete;

  void add_routes(Router& router);
  // From now on, who asks for an answer is told that the server is going; streams of the live state end.
  void stop();

 private:
  using Exchange = std::shared_ptr<HttpExchange>;
  using EngineRef = ModelHost::EngineRef;
  using WithEngine = std::function<void(const std::string& model, EngineRef engine)>;

  void add_inside_routes(Router& router);
  void add_ollama_routes(Router& router);
  void add_messages_routes(Router& router);
  // A route whose errors become answers.
  void add(Router& router, std::string method, std::string pattern,
           void (Api::*handle)(const HttpRequest&, const Exchange&), RouteOptions options = {});
  // The name of a model that there is; empty means the first one. Throws RequestError.
  std::string model_name(const std::string& model) const;
  // Calls back once the model is there, or answers with the reason why it is not.
  void with_engine(const std::string& model, const Exchange& exchange, WithEngine callback, const KeepWish& keep);
  // Puts in what the model's preset says and the request does not, if it is one.
  template <typename Request>
  void fill_in(const std::string& model, Request& request) const {
    if (const auto defaults = host_->defaults_of(model_name(model))) defaults->fill(request);
  }
  void run(const std::string& model, EngineRef engine, std::vector<EngineRequest> prompts, const Exchange& exchange,
           std::unique_ptr<AnswerWriter> writer, EngineClock::time_point asked, const Caller& caller);

  // Has the model answer a conversation: `write` makes what writes it.
  using MakeWriter =
      std::function<std::unique_ptr<AnswerWriter>(const std::string& model, ChatJob& job, const EngineRef& engine)>;
  void converse(std::shared_ptr<const ChatRequest> wanted, const Exchange& exchange, const Caller& caller,
                MakeWriter write, std::optional<double> keep_seconds = {});
  // `input`: the conversation's items as JSON, kept with the response; empty: it is not to be kept.
  void respond(const std::shared_ptr<const ResponsesRequest>& wanted, AnswerHead head, const Exchange& exchange,
               const Caller& caller, const std::string& input = {}, BackgroundHooks::OnEvent on_event = {});
  // Sends the events of a response that is kept, behind number `after`.
  void stream_response(const Caller& caller, std::string_view id, int64_t after, const Exchange& exchange);
  // The items of a response's input and output. Throws RequestError.
  OrderedJson conversation_of(const Caller& caller, const std::string& id) const;
  void list_input_items(const HttpRequest& request, const Exchange& exchange, std::string_view id);
  // Throws RequestError when the server was started without a journal or it is full.
  // `body`: what is to be computed; `input`: as respond()'s.
  void accept_background(const HttpRequest& request, const Exchange& exchange, const ResponsesRequest& wanted,
                         std::string body, const std::string& input);
  // Carries out "wick" of a request for an answer; throws RequestError without an Inspector. What it returns is to be
  // called when the answer is over; empty: nothing is captured.
  InspectEnd inspect(const InspectRequest& wanted, EngineRequest& job, const std::string& id, const std::string& owner,
                     const EngineRef& engine);
  void check_may_inspect() const;  // throws RequestError
  void check_may_change_adapters() const;
  // A request of POST /v1/wick/..., on a thread of the Inspector.
  template <typename Wanted, typename Work>
  void look_inside(const HttpRequest& request, const Exchange& exchange, Work work);
  RequestError no_response(std::string_view id) const;
  // What run() returns. That the disk fails is told to whoever runs the server; the client is to come back.
  template <typename Run>
  auto with_journal(const Run& run);

  void chat(const HttpRequest& request, const Exchange& exchange);
  void completions(const HttpRequest& request, const Exchange& exchange);
  void responses(const HttpRequest& request, const Exchange& exchange);
  void stored_response(const HttpRequest& request, const Exchange& exchange);
  void cancel_response(const HttpRequest& request, const Exchange& exchange);
  void delete_response(const HttpRequest& request, const Exchange& exchange);
  void rerank(const HttpRequest& request, const Exchange& exchange);
  void score(const HttpRequest& request, const Exchange& exchange);
  void classify(const HttpRequest& request, const Exchange& exchange);
  void embeddings(const HttpRequest& request, const Exchange& exchange);
  void ollama_chat(const HttpRequest& request, const Exchange& exchange);
  void ollama_generate(const HttpRequest& request, const Exchange& exchange);
  void ollama_load(const OllamaRequest& wanted, const Exchange& exchange, bool is_chat, const Caller& caller);
  void ollama_tags(const HttpRequest& request, const Exchange& exchange);
  void ollama_show(const HttpRequest& request, const Exchange& exchange);
  void ollama_ps(const HttpRequest& request, const Exchange& exchange);
  void ollama_embed(const HttpRequest& request, const Exchange& exchange);
  void ollama_embeddings(const HttpRequest& request, const Exchange& exchange);
  void ollama_version(const HttpRequest& request, const Exchange& exchange);
  void ollama_other(const HttpRequest& request, const Exchange& exchange);
  std::string ollama_model(const std::string& name) const;
  void messages(const HttpRequest& request, const Exchange& exchange);
  void count_message_tokens(const HttpRequest& request, const Exchange& exchange);
  void transcriptions(const HttpRequest& request, const Exchange& exchange);
  void translations(const HttpRequest& request, const Exchange& exchange);
  void listen(const HttpRequest& request, const Exchange& exchange, SpeechTask task);
  void speech(const HttpRequest& request, const Exchange& exchange);
  void voices(const HttpRequest& request, const Exchange& exchange);
  std::vector<ModelAnswer> other_answers() const;  // those that do not generate text
  void about_inspect(const HttpRequest& request, const Exchange& exchange);
  void lens(const HttpRequest& request, const Exchange& exchange);
  void attention(const HttpRequest& request, const Exchange& exchange);
  void norms(const HttpRequest& request, const Exchange& exchange);
  void head_scores(const HttpRequest& request, const Exchange& exchange);
  void patch(const HttpRequest& request, const Exchange& exchange);
  void run_edited(const HttpRequest& request, const Exchange& exchange);
  void probe(const HttpRequest& request, const Exchange& exchange);
  void sae_features(const HttpRequest& request, const Exchange& exchange);
  void capture(const HttpRequest& request, const Exchange& exchange);
  void delete_capture(const HttpRequest& request, const Exchange& exchange);
  void list_models(const HttpRequest& request, const Exchange& exchange);
  void one_model(const HttpRequest& request, const Exchange& exchange);
  void load_adapter(const HttpRequest& request, const Exchange& exchange);
  void unload_adapter(const HttpRequest& request, const Exchange& exchange);
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
  const std::shared_ptr<ResponseStore> responses_ = std::make_shared<ResponseStore>();
  std::shared_ptr<SpeechHost> speech_;    // null: no speech models
  std::shared_ptr<JudgeHost> judges_;     // null: none that rank and classify
  std::shared_ptr<EmbedHost> embedders_;  // null: no models for vectors
  std::filesystem::path adapters_;        // empty: clients load none
  std::shared_ptr<VoiceHost> voices_;     // null: none that speak
  std::unique_ptr<Realtime> realtime_;    // null: no speech models
  // Models may become ready when the API has gone: whoever waited for one asks here first.
  struct Gate {
    std::shared_mutex mutex;  // shared by those who are inside
    bool is_open = true;
  };
  const std::shared_ptr<Gate> gate_ = std::make_shared<Gate>();
  std::atomic<bool> stopped_{false};
  LiveState live_;
  std::function<void(const std::string&)> say_;
  std::unique_ptr<Inspector> inspector_;         // null: nobody looks inside
  std::unique_ptr<BackgroundQueue> background_;  // null: no journal. Last: its thread uses the others
};

// The body of a request. Throws RequestError when it is not JSON or has so many values that they would fill the memory.
Json json_body(const HttpRequest& request);
// The answer to an exception: that of a RequestError names the field at fault.
HttpResponse api_error_response(const std::exception_ptr& error);

}  // namespace wick
