#pragma once

#include "jinja/interpreter.h"

namespace wick::jinja {

// self.name: called, it gives what the block writes, with the variables of the template and not those around the call.
class BlockReference : public Object {
 public:
  explicit BlockReference(const BlockStatement& block) : block_(block) {}

  std::string_view type_name() const override { return "BlockReference"; }
  std::optional<Value> attribute(std::string_view name) override;
  bool callable() const override { return true; }
  Value call(Interpreter& interpreter, const Arguments& arguments) override;

 private:
  const BlockStatement& block_;
};

// The variable `self`.
class TemplateReference : public Object {
 public:
  explicit TemplateReference(const Blocks& blocks) : blocks_(blocks) {}

  std::string_view type_name() const override { return "TemplateReference"; }
  std::string repr() const override { return "<TemplateReference None>"; }
  std::optional<Value> attribute(std::string_view name) override;
  std::optional<Value> item(const Value& key) override;
  bool equals(const Object& other) const override { return dynamic_cast<const TemplateReference*>(&other) != nullptr; }

 private:
  const Blocks& blocks_;
};

}  // namespace wick::jinja
