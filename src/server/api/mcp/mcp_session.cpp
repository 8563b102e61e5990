#include "server/api/mcp/mcp_session.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "server/api/json_copy.h"
#include "server/api/json_text.h"
#include "server/http/error_response.h"

namespace wick {
namespace {

// JSON-RPC's.
constexpr int kParseError = -32700, kInvalidRequest = -32600, kNoSuchMethod = -32601, kInvalidParams = -32602;
constexpr std::string_view kVersions[] = {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"};  // the newest first
constexpr std::chrono::milliseconds kTick{500};
constexpr size_t kMostCalls = 64;

// The client's version if it is known here, else the newest that is.
std::string_view version_for(const Json& params) {
  const Json* wanted = params.is_object() ? params.find("protocolVersion") : nullptr;
  if (!wanted || !wanted->is_text()) return kVersions[0];
  const auto* const known = std::find(std::begin(kVersions), std::end(kVersions), wanted->as_text());
  return known == std::end(kVersions) ? kVersions[0] : *known;
}

OrderedJson tool_list(const McpOffer& offer) {
  OrderedJson list = OrderedJson::array();
  for (const McpTool& tool : mcp_tools()) {
    if (!find_mcp_tool(tool.name, offer)) continue;
    list.push_back({{"name", tool.name}, {"description", tool.description}, {"inputSchema", tool.schema()}});
  }
  return {{"tools", std::move(list)}};
}

OrderedJson tool_error(const std::string& message) {
  return {{"content", OrderedJson::array({{{"type", "text"}, {"text", message}}})}, {"isError", true}};
}

OrderedJson tool_answer(const McpTool& tool, const HttpResponse& response) {
  if (response.status != 200) return tool_error(error_message(response));
  OrderedJson result = tool.result(OrderedJson::parse(response.body));
  result["isError"] = false;
  return result;
}

}  // namespace

McpSession::McpSession(Router router, const McpOffer& offer, std::function<void(const std::string&)> write)
    : router_(std::move(router)), offer_(offer), write_(std::move(write)), thread_([this] { loop(); }) {}

McpSession::~McpSession() {
  std::map<std::string, Call> calls;
  {
    const std::lock_guard lock(mutex_);
    calls.swap(calls_);
  }
  for (const auto& [id, each] : calls) each.exchange->close();
  is_stopping_ = true;
  inbox_->wake();
  thread_.join();
}

void McpSession::send(const OrderedJson& message) {
  const std::lock_guard lock(writing_);
  write_(to_text(message));
}

void McpSession::reply(const OrderedJson& id, OrderedJson result) {
  send({{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}});
}

void McpSession::refuse(const OrderedJson& id, int code, const std::string& message) {
  send({{"jsonrpc", "2.0"}, {"id", id}, {"error", {{"code", code}, {"message", message}}}});
}

void McpSession::take(std::string_view line) {
  Json message;
  try {
    message = json_text(line, "the message");
  } catch (const Error& error) {
    return refuse(nullptr, kParseError, error.what());
  }
  const Json* method = message.is_object() ? message.find("method") : nullptr;
  const Json* id = message.is_object() ? message.find("id") : nullptr;
  if (!method || !method->is_text() || (id && !id->is_text() && !id->is_int())) {
    return refuse(nullptr, kInvalidRequest,
                  "the message is no request: an object with a method, and an id that is text or a whole number");
  }
  static const Json kNone;
  const Json& params = message.find("params") ? message.at("params") : kNone;
  const std::string& name = method->as_text();
  if (!id) {
    if (name == "notifications/cancelled") cancel(params);
    return;
  }
  const OrderedJson request = to_ordered(*id);
  if (name == "initialize") {
    return reply(request, {{"protocolVersion", version_for(params)},
                           {"capabilities", {{"tools", {{"listChanged", false}}}}},
                           {"serverInfo", {{"name", "wick"}, {"version", WICK_VERSION}}}});
  }
  if (name == "ping") return reply(request, OrderedJson::object());
  if (name == "tools/list") return reply(request, tool_list(offer_));
  if (name == "tools/call") return call(request, params);
  refuse(request, kNoSuchMethod, cat("there is no method ", in_quotes(name)));
}

void McpSession::call(const OrderedJson& id, const Json& params) {
  const Json* name = params.is_object() ? params.find("name") : nullptr;
  const McpTool* tool = name && name->is_text() ? find_mcp_tool(name->as_text(), offer_) : nullptr;
  if (!tool) return refuse(id, kInvalidParams, "params.name is no tool of this server");
  static const Json kEmpty = Json::parse("{}", "arguments");
  HttpRequest request;
  try {
    const Json* arguments = params.find("arguments");
    request = tool->request(arguments ? *arguments : kEmpty);
  } catch (const Error& error) {
    return reply(id, tool_error(error.what()));
  }
  const std::string key = to_text(id);
  const auto exchange = std::make_shared<BackgroundExchange>(key, inbox_);
  {
    const std::lock_guard lock(mutex_);
    if (calls_.size() >= kMostCalls || calls_.contains(key)) {
      exchange->close();
    } else {
      calls_[key] = {id, tool, exchange};
    }
  }
  if (exchange->is_closed()) return refuse(id, kInvalidRequest, "too many calls are under way, or one with this id");
  request.caller.name = "mcp";
  router_.find(request.method, request.path).route->handler(request, exchange);
}

void McpSession::cancel(const Json& params) {
  const Json* id = params.is_object() ? params.find("requestId") : nullptr;
  if (!id) return;
  std::shared_ptr<BackgroundExchange> exchange;
  {
    const std::lock_guard lock(mutex_);
    const auto found = calls_.find(to_text(to_ordered(*id)));
    if (found == calls_.end()) return;
    exchange = found->second.exchange;
    calls_.erase(found);
    news_.notify_all();
  }
  exchange->close();
}

void McpSession::wait() {
  std::unique_lock lock(mutex_);
  news_.wait(lock, [&] { return calls_.empty(); });
}

void McpSession::loop() {
  while (!is_stopping_) {
    BackgroundInbox::Answers answers;
    inbox_->wait(kTick, answers);
    for (const BackgroundInbox::Answer& answer : answers) {
      std::optional<Call> call;
      {
        const std::lock_guard lock(mutex_);
        if (const auto found = calls_.find(answer.id); found != calls_.end()) call = found->second;
      }
      if (!call) continue;  // cancelled
      reply(call->id, tool_answer(*call->tool, answer.response));
      const std::lock_guard lock(mutex_);
      calls_.erase(answer.id);
      news_.notify_all();
    }
  }
}

}  // namespace wick
