#pragma once

#include <memory>
#include <string>
#include <utility>

#include "engine/ember.h"
#include "server/api/api.h"
#include "server/api/json_copy.h"
#include "server/http/http_server.h"
#include "support/http_client.h"
#include "support/recorded_exchange.h"

namespace wick {

// The whole server on a port of its own, with Ember or with other models.
class ApiServer {
 public:
  explicit ApiServer(const EngineOptions& engine = {}, HttpServerOptions options = {},
                     std::shared_ptr<Journal> journal = nullptr, std::shared_ptr<SpeechHost> speech = nullptr,
                     std::unique_ptr<Inspector> inspector = nullptr)
      : ApiServer(std::vector<ModelEntry>{ember(engine)}, std::move(options), std::move(journal), std::move(speech),
                  std::move(inspector)) {}
  explicit ApiServer(std::vector<ModelEntry> models, HttpServerOptions options = {},
                     std::shared_ptr<Journal> journal = nullptr, std::shared_ptr<SpeechHost> speech = nullptr,
                     std::unique_ptr<Inspector> inspector = nullptr, std::shared_ptr<EmbedHost> embedders = nullptr,
                     std::shared_ptr<JudgeHost> judges = nullptr, std::filesystem::path adapters = {},
                     std::shared_ptr<VoiceHost> voices = nullptr) {
    host_ = std::make_shared<ModelHost>(std::move(models), int64_t{1} << 30);
    if (!speech) {
      std::vector<SpeechEntry> listeners;
      if (has_ember()) listeners.push_back({"ember-asr", {}, {}});
      speech = std::make_shared<SpeechHost>(std::move(listeners), 2, 4);
    }
    Api::Parts parts{std::move(journal),   std::move(speech), std::move(judges),   std::move(embedders),
                     std::move(inspector), nullptr,           std::move(adapters), std::move(voices)};
    api_ = std::make_unique<Api>(host_, metrics_, std::move(parts));
    Router router;
    api_->add_routes(router);
    options.metrics = metrics_;
    options.allowed_hosts.emplace_back("x");  // what requests in tests call it
    server_ = std::make_unique<HttpServer>(std::move(router), std::move(options));
  }
  ~ApiServer() { api_->stop(); }

  HttpClient client() const { return HttpClient(server_->port()); }
  HttpAnswer get(std::string_view target) const { return client().get(target); }
  HttpAnswer post(std::string_view target, std::string_view body, const HttpClient::Fields& fields = {}) const {
    return client().request("POST", target, body, fields);
  }
  // Fails the test unless the status is 200.
  OrderedJson answer(std::string_view target, std::string_view body) const {
    const HttpAnswer answer = post(target, body);
    EXPECT_EQ(answer.status, 200) << answer.body;
    return OrderedJson::parse(answer.body);
  }
  std::vector<ServerEvent> stream(std::string_view target, std::string_view body) const {
    const HttpAnswer answer = post(target, body);
    EXPECT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(answer.field("content-type"), "text/event-stream");
    return events_of(answer.body);
  }
  // Begins a stream, and leaves it to the caller.
  HttpClient begin_stream(std::string_view target, std::string_view body) const {
    HttpClient open = client();
    open.send(cat("POST ", target, " HTTP/1.1\r\nHost: x\r\nContent-Length: ", body.size(), "\r\n\r\n", body));
    return open;
  }

  uint16_t port() const { return server_->port(); }
  ModelHost& host() { return *host_; }
  Api& api() { return *api_; }
  HttpServer& http() { return *server_; }

 private:
  static ModelEntry ember(EngineOptions engine) {
    engine.context = engine.context ? engine.context : 4096;
    engine.kv_bytes = engine.kv_bytes ? engine.kv_bytes : int64_t{64} << 20;
    return {"ember", {}, {}, engine};
  }

  std::shared_ptr<Metrics> metrics_ = std::make_shared<Metrics>();
  std::shared_ptr<ModelHost> host_;
  std::unique_ptr<Api> api_;
  std::unique_ptr<HttpServer> server_;  // last: it uses the others
};

}  // namespace wick
