#include "text/response/argument_list.h"

#include <utility>

#include "base/json_write.h"
#include "base/utf8.h"

namespace wick::response {
namespace {

// Whether a parameter is declared as text; empty when nothing is declared.
std::optional<bool> declared_as_text(const Json* tools, std::string_view function, std::string_view parameter) {
  if (!tools || !tools->is_array()) return std::nullopt;
  for (const Json& tool : tools->as_array()) {
    if (!tool.is_object()) continue;
    const Json* described = tool.find("function");
    const Json& body = described && described->is_object() ? *described : tool;
    const Json* name = body.find("name");
    if (!name || !name->is_text() || name->as_text() != function) continue;
    const Json* schema = body.find("parameters");
    const Json* properties = schema && schema->is_object() ? schema->find("properties") : nullptr;
    const Json* property = properties && properties->is_object() ? properties->find(parameter) : nullptr;
    const Json* type = property && property->is_object() ? property->find("type") : nullptr;
    if (type && type->is_text()) return type->as_text() == "string";
  }
  return std::nullopt;
}

std::string json_of(const std::string& text, std::optional<bool> is_text) {
  if (!is_text.value_or(false)) {
    try {
      const Json value = Json::parse(text, "parameter");
      if (!value.is_text() || is_text == false) return text;
    } catch (const Error&) {
      if (text == "True" || text == "False" || text == "None") {  // as Python writes them
        return text == "True" ? "true" : text == "False" ? "false" : "null";
      }
    }
  }
  std::string out;
  append_json_text(out, is_utf8(text) ? text : "");
  return out;
}

}  // namespace

void ArgumentList::begin(std::string_view function, Builder& builder) {
  function_ = function;
  first_ = true;
  builder.begin_call(function);
}

void ArgumentList::add(std::string_view name, const std::string& value, std::optional<bool> is_text, Builder& builder) {
  std::string entry = std::exchange(first_, false) ? "{" : ", ";
  append_json_text(entry, is_utf8(name) ? name : "");
  if (!is_text) is_text = declared_as_text(tools_, function_, name);
  builder.add_arguments(entry + ": " + json_of(value, is_text));
}

void ArgumentList::end(Builder& builder) { builder.add_arguments(first_ ? "{}" : "}"); }

}  // namespace wick::response
