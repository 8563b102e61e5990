#pragma once

#include <memory>

#include "jinja/interpreter.h"

namespace wick::jinja {

// A macro or the body of a call block, with the variables around its definition.
class Macro : public Object {
 public:
  Macro(const MacroDefinition& definition, std::shared_ptr<Scope> outer)
      : definition_(definition), outer_(std::move(outer)) {}

  std::string_view type_name() const override { return "Macro"; }
  std::string repr() const override { return cat("<Macro '", definition_.name, "'>"); }
  std::optional<Value> attribute(std::string_view name) override;
  bool callable() const override { return true; }
  Value call(Interpreter& interpreter, const Arguments& arguments) override;

 private:
  void bind(Interpreter& interpreter, const Arguments& arguments, Scope& scope) const;

  const MacroDefinition& definition_;
  std::shared_ptr<Scope> outer_;
};

Value make_macro(Interpreter& interpreter, const MacroDefinition& definition);

}  // namespace wick::jinja
