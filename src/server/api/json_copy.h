#pragma once

#include <string_view>

#include "server/api/field_kinds.h"
#include "server/http/exchange.h"

namespace wick {

// The same document in the other type: Json is for reading, OrderedJson for building.
OrderedJson to_ordered(const Json& json);
Json to_json(const OrderedJson& json, std::string_view source);

// An answer of status 200.
HttpResponse json_response(const OrderedJson& json);

// On one line. Bytes that are not UTF-8 are replaced.
std::string to_text(const OrderedJson& json);

}  // namespace wick
