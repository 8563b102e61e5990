#include "chat/tool_arguments.h"

#include <algorithm>

#include "base/json.h"
#include "jinja/builtins/python_format.h"

namespace wick {
namespace {

using jinja::Dict;
using jinja::Value;

const Value* find_in(const Value& value, std::string_view key) {
  return value.is_dict() ? value.as_dict().find(key) : nullptr;
}

Value with(const Value& dict, std::string_view key, Value value) {
  Dict changed = dict.as_dict();
  changed.set(key, std::move(value));
  return {std::move(changed)};
}

std::optional<Value> parsed_object(const Value& text) {
  if (!text.is_text()) return std::nullopt;
  const std::string_view bytes = text.bytes();
  if (bytes.find('{') == bytes.npos) return std::nullopt;
  try {
    const Json json = Json::parse(std::string(bytes), "arguments");
    if (json.is_object()) return Value(json);
  } catch (const Error&) {
    // Cut off, or no JSON: the template gets what was sent.
  }
  return std::nullopt;
}

// {"arguments": text}
std::optional<Value> parsed_function(const Value& function) {
  const Value* arguments = find_in(function, "arguments");
  if (!arguments) return std::nullopt;
  auto parsed = parsed_object(*arguments);
  if (!parsed) return std::nullopt;
  return with(function, "arguments", *std::move(parsed));
}

// {"function": {"arguments": text}}, or without the inner object.
std::optional<Value> parsed_call(const Value& call) {
  const Value* function = find_in(call, "function");
  if (!function) return parsed_function(call);
  auto parsed = parsed_function(*function);
  if (!parsed) return std::nullopt;
  return with(call, "function", *std::move(parsed));
}

// The list with each item changed that can be; empty when none can.
template <typename Change>
std::optional<Value> changed_items(const Value& list, const Change& change) {
  std::vector<Value> items;
  bool any = false;
  for (const Value& item : list.items()) {
    auto changed = change(item);
    any = any || changed.has_value();
    items.push_back(changed ? *std::move(changed) : item);
  }
  if (!any) return std::nullopt;
  return Value::list(std::move(items));
}

std::optional<Value> parsed_message(const Value& message) {
  const Value* calls = find_in(message, "tool_calls");
  if (!calls || !calls->is_list()) return std::nullopt;
  auto changed = changed_items(*calls, parsed_call);
  if (!changed) return std::nullopt;
  return with(message, "tool_calls", *std::move(changed));
}

// Whether `holds` is true for the arguments of any call.
template <typename Holds>
bool any_arguments(const Value& messages, const Holds& holds) {
  for (const Value& message : messages.items()) {
    const Value* calls = find_in(message, "tool_calls");
    if (!calls || !calls->is_list()) continue;
    for (const Value& call : calls->items()) {
      const Value* function = find_in(call, "function");
      const Value* arguments = find_in(function ? *function : call, "arguments");
      if (arguments && holds(*arguments)) return true;
    }
  }
  return false;
}

}  // namespace

std::optional<Value> with_parsed_arguments(const Value& messages) {
  if (!messages.is_list()) return std::nullopt;
  return changed_items(messages, parsed_message);
}

bool shows_python_arguments(std::string_view rendered, const Value& parsed) {
  return any_arguments(parsed, [&](const Value& arguments) {
    if (!arguments.is_dict() || arguments.as_dict().size() == 0) return false;
    return rendered.find(jinja::repr(arguments)) != rendered.npos;
  });
}

bool shows_argument_texts(std::string_view rendered, const Value& messages) {
  return !any_arguments(messages, [&](const Value& arguments) {
    return arguments.is_text() && rendered.find(arguments.bytes()) == rendered.npos;
  });
}

}  // namespace wick
