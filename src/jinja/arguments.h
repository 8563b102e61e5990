#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jinja/value.h"

namespace wick::jinja {

// What a call passes.
struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;

  const Value* find(std::string_view name) const;  // a named one, or null
};

// Arguments matched to a function's parameters; throws naming the function when they do not fit.
class Bound {
 public:
  Bound(std::string_view function, const Arguments& arguments, std::initializer_list<std::string_view> parameters,
        size_t required = 0);

  // Null when it was not given.
  const Value* operator[](size_t parameter) const { return values_[parameter]; }
  // Given, and not None.
  bool has(size_t parameter) const { return values_[parameter] && !values_[parameter]->is_none(); }
  Value get(size_t parameter, Value fallback = {}) const {
    return values_[parameter] ? *values_[parameter] : std::move(fallback);
  }
  bool flag(size_t parameter, bool fallback = false) const {
    return values_[parameter] ? values_[parameter]->truthy() : fallback;
  }
  int64_t integer(size_t parameter, int64_t fallback) const;  // the fallback also for None
  // Throws unless it is a text; its length is charged. Valid as long as the arguments.
  std::string_view text(size_t parameter, std::string_view fallback = {}) const;

 private:
  std::string_view function_;
  std::vector<const Value*> values_;
};

// Throws for calls of functions that take no arguments.
void expect_no_arguments(std::string_view function, const Arguments& arguments);
// A bool or int; throws "'str' object cannot be interpreted as an integer".
int64_t to_index(const Value& value);

}  // namespace wick::jinja
