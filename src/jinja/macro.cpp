#include "jinja/macro.h"

#include <algorithm>

namespace wick::jinja {

std::optional<Value> Macro::attribute(std::string_view name) {
  if (name == "name") return definition_.name;
  if (name == "arguments") {
    return Value::tuple(std::vector<Value>(definition_.parameters.begin(), definition_.parameters.end()));
  }
  if (name == "catch_kwargs") return definition_.uses_kwargs;
  if (name == "catch_varargs") return definition_.uses_varargs;
  if (name == "caller") return definition_.uses_caller;
  return std::nullopt;
}

void Macro::bind(Interpreter& interpreter, const Arguments& arguments, Scope& scope) const {
  const auto& parameters = definition_.parameters;
  const auto& positional = arguments.positional;
  Dict unknown;
  for (const auto& [name, value] : arguments.named) {
    const auto found = std::find(parameters.begin(), parameters.end(), name);
    const bool free = found != parameters.end() && found - parameters.begin() >= std::ssize(positional);
    if (free) continue;
    if (name == "caller" && definition_.uses_caller && found == parameters.end()) continue;
    if (!definition_.uses_kwargs) {
      throw problem("macro '", definition_.name, "' takes no keyword argument '", name, "'");
    }
    unknown.set(name, value);
  }
  if (positional.size() > parameters.size() && !definition_.uses_varargs) {
    throw problem("macro '", definition_.name, "' takes not more than ", parameters.size(), " argument(s)");
  }
  const bool caller_is_parameter = std::find(parameters.begin(), parameters.end(), "caller") != parameters.end();
  if (definition_.uses_caller && !caller_is_parameter) {
    const Value* caller = arguments.find("caller");
    scope.set("caller", caller ? *caller : Value::undefined("No caller defined"));
  }
  if (definition_.uses_kwargs) scope.set("kwargs", Value(std::move(unknown)));
  if (definition_.uses_varargs) {
    const size_t used = std::min(positional.size(), parameters.size());
    scope.set("varargs", Value::tuple(std::vector<Value>(positional.begin() + static_cast<std::ptrdiff_t>(used),
                                                         positional.end())));
  }
  // Defaults see the parameters before them.
  const size_t without_default = parameters.size() - definition_.defaults.size();
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (i < positional.size()) {
      scope.set(parameters[i], positional[i]);
    } else if (const Value* named = arguments.find(parameters[i])) {
      scope.set(parameters[i], *named);
    } else if (i >= without_default) {
      scope.set(parameters[i], interpreter.evaluate(*definition_.defaults[i - without_default]));
    } else {
      scope.set(parameters[i], Value::undefined(cat("parameter '", parameters[i], "' was not provided")));
    }
  }
}

Value Macro::call(Interpreter& interpreter, const Arguments& arguments) {
  const auto scope = std::make_shared<Scope>(outer_);
  {
    const Interpreter::Enter enter(interpreter, scope);
    bind(interpreter, arguments, *scope);
  }
  return {interpreter.capture(definition_.body, scope), interpreter.autoescape};
}

Value make_macro(Interpreter& interpreter, const MacroDefinition& definition) {
  interpreter.keep(interpreter.scope());
  return Value(std::make_shared<Macro>(definition, interpreter.scope()));
}

}  // namespace wick::jinja
