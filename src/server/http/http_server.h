#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "server/http/clients/api_keys.h"
#include "server/http/http_limits.h"
#include "server/http/request_log.h"
#include "server/http/router.h"
#include "server/metrics.h"

namespace wick {

struct HttpServerOptions {
  std::string address = "127.0.0.1";               // of this machine, IPv4 or IPv6
  uint16_t port = 0;                               // 0: any that is free
  int io_threads = 1;                              // connections are shared out among them
  int worker_threads = 4;                          // on which handlers run that are not quick
  int large_body_threads = 2;                      // the same for requests with large bodies
  std::filesystem::path tls_certificate, tls_key;  // both or neither
  HttpLimits limits;
  std::vector<std::string> cors_origins;   // see Cors
  std::vector<std::string> allowed_hosts;  // see HostNames
  std::shared_ptr<const ApiKeys> keys;     // null: no key is asked for
  std::shared_ptr<RequestLog> log;         // null: none
  std::shared_ptr<Metrics> metrics;        // null: none
};

// Serves the routes from construction on, on threads of its own. Throws Error(kIo) when the address cannot be had,
// Error(kBadFile) for a certificate or key, Error(kInvalidArgument) for options that make no sense.
class HttpServer {
 public:
  HttpServer(Router router, HttpServerOptions options);
  ~HttpServer();  // stop(0), and waits for handlers that still run
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  uint16_t port() const;
  std::string url() const;  // "http://127.0.0.1:8080"
  bool is_local() const;    // only this machine reaches it

  // Accepts nothing more, closes idle connections, waits until running answers are finished, at most `grace`, and cuts
  // off what is left. Thread-safe, but not from inside a handler. A second call waits, too.
  void stop(std::chrono::milliseconds grace = std::chrono::milliseconds(0));
  // Sleeps until somebody has called stop() and it is done.
  void wait();

  // From the next request on. Keys cannot be turned on or off: throws Error(kInvalidArgument).
  void replace_keys(std::shared_ptr<const ApiKeys> keys);
  // Reads certificate and key anew, for the next connections. Throws Error(kBadFile) and keeps the old ones.
  void reload_certificate();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace wick
