#include "jinja/arguments.h"

#include <algorithm>

#include "base/utf8.h"

namespace wick::jinja {

const Value* Arguments::find(std::string_view name) const {
  spend_work(static_cast<int64_t>(named.size() / 8));
  for (const auto& [key, value] : named) {
    if (key == name) return &value;
  }
  return nullptr;
}

Bound::Bound(std::string_view function, const Arguments& arguments, std::initializer_list<std::string_view> parameters,
             size_t required)
    : function_(function), values_(parameters.size()) {
  if (arguments.positional.size() > parameters.size()) {
    throw problem(function, "() takes at most ", parameters.size(), " arguments, but ", arguments.positional.size(),
                  " were given");
  }
  for (size_t i = 0; i < arguments.positional.size(); ++i) values_[i] = &arguments.positional[i];
  for (const auto& [name, value] : arguments.named) {
    const auto* found = std::find(parameters.begin(), parameters.end(), name);
    if (found == parameters.end()) throw problem(function, "() has no argument ", in_quotes(name));
    const Value*& slot = values_[static_cast<size_t>(found - parameters.begin())];
    if (slot) throw problem(function, "() got two values for the argument '", name, "'");
    slot = &value;
  }
  for (size_t i = 0; i < required; ++i) {
    if (!values_[i]) throw problem(function, "() misses the argument '", parameters.begin()[i], "'");
  }
}

int64_t Bound::integer(size_t parameter, int64_t fallback) const {
  return has(parameter) ? to_index(*values_[parameter]) : fallback;
}

std::string_view Bound::text(size_t parameter, std::string_view fallback) const {
  if (!values_[parameter]) return fallback;
  const Value& value = *values_[parameter];
  if (value.is_undefined()) use_of_undefined(value);
  if (!value.is_text()) throw problem(function_, "() expects text, not ", value.type_name());
  spend_work_on_bytes(value.bytes().size());
  return value.bytes();
}

void expect_no_arguments(std::string_view function, const Arguments& arguments) { Bound(function, arguments, {}); }

int64_t to_index(const Value& value) {
  if (value.is_undefined()) use_of_undefined(value);
  if (!value.is_integral()) {
    throw problem("'", value.type_name(), "' object cannot be interpreted as an integer");
  }
  return value.as_int();
}

}  // namespace wick::jinja
