#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "server/api/background/background_exchange.h"
#include "server/api/field_kinds.h"
#include "server/api/mcp/mcp_tools.h"
#include "server/http/router.h"

namespace wick {

// A server of the Model Context Protocol: JSON-RPC, a message per line. A call of a tool is a request to the API's own
// routes, without a connection. take() is for one thread; several calls may be under way.
class McpSession {
 public:
  // `write` gets each message without the end of its line, one at a time, on any thread.
  McpSession(Router router, const McpOffer& offer, std::function<void(const std::string&)> write);
  ~McpSession();  // cancels what is under way
  McpSession(const McpSession&) = delete;
  McpSession& operator=(const McpSession&) = delete;

  void take(std::string_view line);
  void wait();  // until all calls are answered

 private:
  struct Call {
    OrderedJson id;
    const McpTool* tool;
    std::shared_ptr<BackgroundExchange> exchange;
  };
  void call(const OrderedJson& id, const Json& params);
  void cancel(const Json& params);
  void reply(const OrderedJson& id, OrderedJson result);
  void refuse(const OrderedJson& id, int code, const std::string& message);
  void send(const OrderedJson& message);
  void loop();

  const Router router_;
  const McpOffer offer_;
  const std::function<void(const std::string&)> write_;
  const std::shared_ptr<BackgroundInbox> inbox_ = std::make_shared<BackgroundInbox>();
  std::mutex writing_;
  std::mutex mutex_;  // of what follows
  std::condition_variable news_;
  std::map<std::string, Call> calls_;  // by the JSON text of their ids
  std::atomic<bool> is_stopping_{false};
  std::thread thread_;  // last: it uses the others
};

}  // namespace wick
