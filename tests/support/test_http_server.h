#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "server/http/error_response.h"
#include "server/http/http_server.h"
#include "support/http_client.h"
#include "support/sanitized.h"

namespace wick {

// Something that happens once on another thread; a test that waits for it in vain fails after ten seconds.
class Signal {
 public:
  void set() {
    const std::lock_guard lock(mutex_);
    ++count_;
    changed_.notify_all();
  }
  bool wait(int times = 1) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kSlowness * std::chrono::seconds(10), [&] { return count_ >= times; });
  }
  int count() {
    const std::lock_guard lock(mutex_);
    return count_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int count_ = 0;
};

inline HttpResponse text_response(std::string text) {
  HttpResponse response;
  response.body = std::move(text);
  response.content_type = "text/plain";
  return response;
}

// A server with routes that tests of the transport need, on a port of its own:
//   GET /health (quick, public)   "ok"
//   POST /echo                    the body
//   GET /show/{name}              method, path, query and parameter, a line each
//   GET /hold                     never answers by itself: see `held`
class TestHttpServer {
 public:
  explicit TestHttpServer(HttpServerOptions options = {}, Router router = {}) {
    router.add("GET", "/health", [](const HttpRequest&, auto exchange) { exchange->send(text_response("ok")); },
               {.quick = true, .is_public = true});
    router.add("POST", "/echo",
               [](const HttpRequest& request, auto exchange) { exchange->send(text_response(request.body)); });
    router.add("GET", "/show/{name}", [](const HttpRequest& request, auto exchange) {
      std::string text = cat(request.method, "\n", request.path, "\n");
      for (const auto& [name, value] : request.query) text += cat(name, "=", value, ";");
      text += cat("\n", path_parameter(request.path, "/show/{name}"), "\n");
      exchange->send(text_response(text));
    });
    router.add("GET", "/hold", [this](const HttpRequest&, auto exchange) {
      exchange->on_close([this] { left.set(); });
      {
        const std::lock_guard lock(mutex_);
        held_.push_back(std::move(exchange));
      }
      arrived.set();
    });
    options.allowed_hosts.emplace_back("x");  // what requests in tests call it
    server_ = std::make_unique<HttpServer>(std::move(router), std::move(options));
  }

  HttpServer& operator*() { return *server_; }
  HttpServer* operator->() { return server_.get(); }
  HttpClient client(HttpClient::Security security = HttpClient::Security::kPlain) {
    return HttpClient(server_->port(), security);
  }
  // The exchange of the oldest request for /hold, which is forgotten here.
  std::shared_ptr<HttpExchange> take_held() {
    const std::lock_guard lock(mutex_);
    auto exchange = std::move(held_.front());
    held_.erase(held_.begin());
    return exchange;
  }
  void destroy() { server_.reset(); }

  Signal arrived;  // a request for /hold
  Signal left;     // the client of one

 private:
  std::mutex mutex_;
  std::vector<std::shared_ptr<HttpExchange>> held_;
  std::unique_ptr<HttpServer> server_;
};

}  // namespace wick
