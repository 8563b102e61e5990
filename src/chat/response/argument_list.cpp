#include "chat/response/argument_list.h"

#include <utility>

#include "base/json_write.h"
#include "base/text.h"
#include "tokenizer/stages/code_points.h"

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
  append_json_text(out, replace_invalid_utf8(text));
  return out;
}

}  // namespace

void ArgumentList::begin(std::string_view function, Builder& builder) {
  function_ = function;
  first_ = true;
  builder.begin_call(function);
}

void ArgumentList::begin_value(std::string_view name, std::optional<bool> is_text, Builder& builder) {
  name_ = replace_invalid_utf8(name);
  is_text_ = is_text ? is_text : declared_as_text(tools_, function_, name);
  value_.clear();
  in_text_ = is_text_.value_or(false);
  if (in_text_) builder.add_arguments(cat(entry(), "\""));
}

std::string ArgumentList::entry() {
  std::string out = std::exchange(first_, false) ? "{" : ", ";
  append_json_text(out, name_);
  return out + ": ";
}

void ArgumentList::add_to_value(std::string_view part, Builder& builder) {
  value_ += part;
  if (in_text_) pass_text_on(false, builder);
}

// All but a character that may go on in the next part.
void ArgumentList::pass_text_on(bool final, Builder& builder) {
  size_t end = value_.size();
  for (size_t last = 1; !final && last <= 3 && last <= value_.size(); ++last) {
    if (utf8_part_at(value_, value_.size() - last).cut) end = value_.size() - last;
  }
  std::string text;
  append_json_text(text, replace_invalid_utf8(std::string_view(value_).substr(0, end)));
  builder.add_arguments(std::string_view(text).substr(1, text.size() - 2));
  value_.erase(0, end);
}

void ArgumentList::end_value(Builder& builder) {
  if (in_text_) {
    pass_text_on(true, builder);
    builder.add_arguments("\"");
  } else {
    builder.add_arguments(entry() + json_of(value_, is_text_));
  }
  in_text_ = false;
}

void ArgumentList::end(Builder& builder) { builder.add_arguments(first_ ? "{}" : "}"); }

void ArgumentList::cut_off(Builder& builder) {
  if (in_text_) return pass_text_on(true, builder);
  end(builder);
}

}  // namespace wick::response
