#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server/api/field_kinds.h"
#include "server/http/exchange.h"

namespace wick {

// What a server can do, besides chat.
struct McpOffer {
  bool transcribes = false, embeds = false, classifies = false;
};

// A tool: how it is described, which request to the API it is, and what of the answer the client reads.
struct McpTool {
  const char *name, *description;
  OrderedJson (*schema)();
  bool McpOffer::*needs;                               // null: it is always there
  HttpRequest (*request)(const Json& arguments);       // throws Error, which names the argument at fault
  OrderedJson (*result)(const OrderedJson& response);  // of a tools/call, without isError
};
const std::vector<McpTool>& mcp_tools();
// Null when there is none of the name, or the server cannot do it.
const McpTool* find_mcp_tool(std::string_view name, const McpOffer& offer);

}  // namespace wick
