#include "jinja/interpreter.h"
#include "jinja/macro.h"
#include "jinja/nodes.h"

namespace wick::jinja {
namespace {

// Filters of a filter block or set block: the innermost has no subject, it takes the block's text.
Value filtered(Interpreter& interpreter, const Expression& expression, const Value& text) {
  const auto& filter = dynamic_cast<const FilterCall&>(expression);
  const Value subject = filter.subject ? filtered(interpreter, *filter.subject, text) : text;
  return filter.apply(interpreter, subject);
}

}  // namespace

Flow DataStatement::execute(Interpreter& interpreter) const {
  interpreter.write(std::string_view(text));
  return Flow::kNormal;
}

Flow PrintStatement::execute(Interpreter& interpreter) const {
  interpreter.write(interpreter.evaluate(*expression));
  return Flow::kNormal;
}

Flow IfStatement::execute(Interpreter& interpreter) const {
  for (const auto& [test, body] : branches) {
    if (interpreter.evaluate(*test).truthy()) return interpreter.execute(body);
  }
  return interpreter.execute(otherwise);
}

Flow ForStatement::execute(Interpreter& interpreter) const {
  interpreter.run_loop(*this, interpreter.evaluate(*iterable), 1, interpreter.scope());
  return Flow::kNormal;
}

Flow SetStatement::execute(Interpreter& interpreter) const {
  interpreter.assign(*target, interpreter.evaluate(*value));
  return Flow::kNormal;
}

Flow SetBlock::execute(Interpreter& interpreter) const {
  Value text(interpreter.capture(body, std::make_shared<Scope>(interpreter.scope())), interpreter.autoescape);
  interpreter.assign(*target, filter ? filtered(interpreter, *filter, text) : text);
  return Flow::kNormal;
}

Flow WithStatement::execute(Interpreter& interpreter) const {
  auto inner = std::make_shared<Scope>(interpreter.scope());
  std::vector<Value> values;
  for (const auto& [target, value] : assignments) values.push_back(interpreter.evaluate(*value));
  const Interpreter::Enter enter(interpreter, inner);
  for (size_t i = 0; i < values.size(); ++i) interpreter.assign(*assignments[i].first, values[i]);
  return interpreter.execute(body);
}

Flow FilterBlock::execute(Interpreter& interpreter) const {
  const Value text(interpreter.capture(body, std::make_shared<Scope>(interpreter.scope())), interpreter.autoescape);
  interpreter.write(filtered(interpreter, *filter, text));
  return Flow::kNormal;
}

Flow MacroStatement::execute(Interpreter& interpreter) const {
  interpreter.scope()->set(macro.name, make_macro(interpreter, macro));
  return Flow::kNormal;
}

Flow CallBlock::execute(Interpreter& interpreter) const {
  const Value callee = interpreter.evaluate(*call->callee);
  Arguments arguments = call->arguments.evaluate(interpreter);
  if (arguments.find("caller")) throw problem("a call block passes 'caller' itself");
  arguments.named.emplace_back("caller", make_macro(interpreter, caller));
  interpreter.write(interpreter.call(callee, arguments));
  return Flow::kNormal;
}

Flow BlockStatement::execute(Interpreter& interpreter) const {
  if (required) throw problem("Required block '", name, "' not found");
  const auto& outer = sees_locals ? interpreter.scope() : interpreter.root();
  const Interpreter::Enter enter(interpreter, std::make_shared<Scope>(outer));
  return interpreter.execute(body);
}

Flow AutoescapeStatement::execute(Interpreter& interpreter) const {
  const bool previous = interpreter.autoescape;
  interpreter.autoescape = interpreter.evaluate(*value).truthy();
  const Interpreter::Enter enter(interpreter, std::make_shared<Scope>(interpreter.scope()));
  const Flow flow = interpreter.execute(body);
  interpreter.autoescape = previous;
  return flow;
}

Flow LoadStatement::execute(Interpreter&) const {
  throw problem("'", tag, "' cannot be used: a chat template has no other templates to load");
}

}  // namespace wick::jinja
