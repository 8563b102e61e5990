#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/http/clients/caller.h"

namespace wick {

using HttpFields = std::vector<std::pair<std::string, std::string>>;

// A request that has arrived whole and within the limits.
struct HttpRequest {
  uint64_t id = 0;     // counts up; also sent back as X-Request-Id
  std::string method;  // "GET"
  std::string path;    // decoded, without the query: "/v1/models"
  HttpFields query;    // decoded
  HttpFields headers;  // names in lower case
  std::string body;
  std::string client;  // address of the other side
  Caller caller;
  std::shared_ptr<const void> room;  // the body's share of the memory for bodies

  // The first of that name (lower case); empty: none.
  std::optional<std::string_view> header(std::string_view name) const;
};

// What was read from a request's body, which keeps the body's share of the memory as long as it lives.
template <typename T>
std::shared_ptr<const T> keep_with_room(T read, const HttpRequest& request) {
  struct Kept {
    T read;
    std::shared_ptr<const void> room;
  };
  const auto kept = std::make_shared<const Kept>(Kept{std::move(read), request.room});
  return {kept, &kept->read};
}

struct HttpResponse {
  int status = 200;
  std::string body;
  std::string content_type = "application/json";
  HttpFields headers;
};

// The answering end of one request: either send() once, or begin(), write() as often as liked and finish().
// Thread-safe; no call blocks, and none does harm once the client has gone. When the last reference goes without an
// answer, the client gets status 500.
class HttpExchange {
 public:
  virtual ~HttpExchange() = default;
  virtual void send(HttpResponse response) = 0;
  // A body of unknown length, sent in chunks. A client that reads too slowly for the limits is cut off.
  virtual void begin(HttpResponse head) = 0;  // its body is the first chunk, if any
  virtual void write(std::string chunk) = 0;
  virtual void finish() = 0;
  // Called once, on any thread, when the client goes before the answer was finished; at once when it has gone already.
  virtual void on_close(std::function<void()> callback) = 0;
  virtual bool is_closed() const = 0;
};

using HttpHandler = std::function<void(const HttpRequest&, std::shared_ptr<HttpExchange>)>;

}  // namespace wick
