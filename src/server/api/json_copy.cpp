#include "server/api/json_copy.h"

namespace wick {

OrderedJson to_ordered(const Json& json) {
  if (json.is_bool()) return json.as_bool();
  if (json.is_text()) return json.as_text();
  if (json.is_int()) {
    const double number = json.as_number();
    if (number < 9.2e18) return json.as_int();
    return number;
  }
  if (json.is_number()) return json.as_number();
  if (json.is_array()) {
    OrderedJson list = OrderedJson::array();
    for (const Json& item : json.as_array()) list.push_back(to_ordered(item));
    return list;
  }
  if (json.is_object()) {
    OrderedJson object = OrderedJson::object();
    for (const auto& [name, value] : json.as_object()) object.emplace(name, to_ordered(value));
    return object;
  }
  return nullptr;
}

Json to_json(const OrderedJson& json, std::string_view source) { return Json::parse(to_text(json), source); }

std::string to_text(const OrderedJson& json) {
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

HttpResponse json_response(const OrderedJson& json) {
  HttpResponse response;
  response.body = to_text(json) + "\n";
  return response;
}

}  // namespace wick
