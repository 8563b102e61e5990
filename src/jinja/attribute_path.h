#pragma once

#include <vector>

#include "jinja/interpreter.h"

namespace wick::jinja {

// "a.b.0" as filters take it: names and numbers to look up one after the other. None: the item itself.
class AttributePath {
 public:
  explicit AttributePath(const Value& path);

  // `fallback` replaces what is undefined on the way, unless it is None.
  Value follow(Interpreter& interpreter, Value item, const Value& fallback = {}) const;

 private:
  std::vector<Value> parts_;
};

// Lower case when it is a text: how filters compare unless they are asked to mind the case.
Value ignoring_case(const Value& value);

}  // namespace wick::jinja
