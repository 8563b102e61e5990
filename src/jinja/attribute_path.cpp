#include "jinja/attribute_path.h"

#include <algorithm>

#include "jinja/builtins/characters.h"
#include "jinja/literals.h"

namespace wick::jinja {

AttributePath::AttributePath(const Value& path) {
  if (path.is_none()) return;
  if (!path.is_text()) {
    parts_.push_back(path);
    return;
  }
  std::string_view rest = path.bytes();
  spend_work_on_characters(rest.size());
  for (;;) {
    const size_t end = std::min(rest.find('.'), rest.size());
    const std::string_view part = rest.substr(0, end);
    const bool digits =
        !part.empty() && std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
    const auto number = digits ? parse_integer(part) : std::nullopt;
    parts_.push_back(number ? Value(*number) : Value(part));
    if (end == rest.size()) return;
    rest.remove_prefix(end + 1);
  }
}

Value AttributePath::follow(Interpreter& interpreter, Value item, const Value& fallback) const {
  for (const Value& part : parts_) {
    spend_work();
    item = interpreter.item(item, part);
    if (item.is_undefined() && !fallback.is_none()) item = fallback;
  }
  return item;
}

Value ignoring_case(const Value& value) {
  if (!value.is_text()) return value;
  spend_work_on_characters(value.bytes().size());
  return to_lower(value.bytes());
}

}  // namespace wick::jinja
