#include "jinja/block_reference.h"

namespace wick::jinja {

std::optional<Value> BlockReference::attribute(std::string_view name) {
  return name == "name" ? std::optional<Value>(block_.name) : std::nullopt;
}

Value BlockReference::call(Interpreter& interpreter, const Arguments& arguments) {
  expect_no_arguments(block_.name, arguments);
  if (block_.required) throw problem("Required block '", block_.name, "' not found");
  const auto scope = std::make_shared<Scope>(interpreter.root());
  return {interpreter.capture(block_.body, scope), interpreter.autoescape};
}

std::optional<Value> TemplateReference::attribute(std::string_view name) {
  const auto block = blocks_.find(name);
  if (block == blocks_.end()) return std::nullopt;
  return Value(std::make_shared<BlockReference>(*block->second));
}

std::optional<Value> TemplateReference::item(const Value& key) {
  return key.is_text() ? attribute(key.bytes()) : std::nullopt;
}

}  // namespace wick::jinja
