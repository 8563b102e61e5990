#include "jinja/arithmetic.h"
#include "jinja/builtins/growing.h"
#include "jinja/builtins/python_format.h"
#include "jinja/interpreter.h"
#include "jinja/nodes.h"
#include "jinja/objects.h"

namespace wick::jinja {
namespace {

Value evaluate_or_none(Interpreter& interpreter, const ExpressionPtr& expression) {
  return expression ? interpreter.evaluate(*expression) : Value();
}

}  // namespace

Value Name::evaluate(Interpreter& interpreter) const { return interpreter.lookup(name); }

Value ListLiteral::evaluate(Interpreter& interpreter) const {
  std::vector<Value> values;
  values.reserve(items.size());
  for (const auto& item : items) values.push_back(interpreter.evaluate(*item));
  return is_tuple ? Value::tuple(std::move(values)) : Value::list(std::move(values));
}

Value DictLiteral::evaluate(Interpreter& interpreter) const {
  Dict dict;
  for (const auto& [key, value] : entries) {
    const Value name = interpreter.evaluate(*key);
    dict.set(name, interpreter.evaluate(*value));
  }
  return {std::move(dict)};
}

Value Unary::evaluate(Interpreter& interpreter) const { return operation(interpreter.evaluate(*operand)); }

Value Binary::evaluate(Interpreter& interpreter) const {
  const Value a = interpreter.evaluate(*left);
  return operation(a, interpreter.evaluate(*right));
}

Value Logic::evaluate(Interpreter& interpreter) const {
  Value value = interpreter.evaluate(*left);
  return value.truthy() == is_and ? interpreter.evaluate(*right) : value;
}

Value Comparison::evaluate(Interpreter& interpreter) const {
  Value left = interpreter.evaluate(*first);
  for (const auto& [operation, expression] : rest) {
    Value right = interpreter.evaluate(*expression);
    if (!operation(left, right)) return false;
    left = std::move(right);
  }
  return true;
}

Value Concatenation::evaluate(Interpreter& interpreter) const {
  const bool markup = interpreter.autoescape;
  std::vector<Value> values;
  values.reserve(parts.size());
  for (const auto& part : parts) values.push_back(interpreter.evaluate(*part));
  const bool grows = !markup && !values.empty() && values[0].is_text() && values[0].bytes().size() >= kGrowingText;
  std::string out;
  for (size_t i = grows ? 1 : 0; i < values.size(); ++i) {
    require_memory(static_cast<int64_t>(out.size()));
    if (markup) {
      out += escape(values[i]).bytes();
    } else {
      append_text(out, values[i]);
    }
  }
  if (grows) return join_texts(values[0], out);
  return {std::move(out), markup};
}

Value Conditional::evaluate(Interpreter& interpreter) const {
  if (interpreter.evaluate(*test).truthy()) return interpreter.evaluate(*yes);
  if (no) return interpreter.evaluate(*no);
  return Value::undefined("the inline if-expression evaluated to false and no else section was defined.");
}

Value AttributeAccess::evaluate(Interpreter& interpreter) const {
  return interpreter.attribute(interpreter.evaluate(*object), name);
}

Value Subscript::evaluate(Interpreter& interpreter) const {
  const Value value = interpreter.evaluate(*object);
  return interpreter.item(value, interpreter.evaluate(*key));
}

Value SliceAccess::evaluate(Interpreter& interpreter) const {
  const Value value = interpreter.evaluate(*object);
  const Value first = evaluate_or_none(interpreter, start), last = evaluate_or_none(interpreter, stop);
  return slice_of(value, first, last, evaluate_or_none(interpreter, step));
}

Arguments CallArguments::evaluate(Interpreter& interpreter) const {
  Arguments result;
  result.positional.reserve(positional.size());
  for (const auto& value : positional) result.positional.push_back(interpreter.evaluate(*value));
  if (star) {
    const auto more = iterate(interpreter.evaluate(*star));
    spend_work(static_cast<int64_t>(more->values.size() / 4));
    result.positional.insert(result.positional.end(), more->values.begin(), more->values.end());
  }
  for (const auto& [name, value] : named) result.named.emplace_back(name, interpreter.evaluate(*value));
  if (double_star) {
    const Value more = interpreter.evaluate(*double_star);
    if (!more.is_dict()) throw problem("the argument after ** must be a mapping, not ", more.type_name());
    for (const auto& [key, value] : more.as_dict().entries()) {
      if (!key.is_text()) throw problem("keywords must be strings");
      if (result.find(key.bytes())) throw problem("got multiple values for keyword argument '", key.bytes(), "'");
      result.named.emplace_back(key.bytes(), value);
    }
  }
  return result;
}

Value Call::evaluate(Interpreter& interpreter) const {
  const Value function = interpreter.evaluate(*callee);
  return interpreter.call(function, arguments.evaluate(interpreter));
}

Value FilterCall::evaluate(Interpreter& interpreter) const {
  return apply(interpreter, interpreter.evaluate(*subject));
}

Value FilterCall::apply(Interpreter& interpreter, const Value& value) const {
  if (!filter) throw problem("there is no filter named '", name, "'");
  return filter(interpreter, value, arguments.evaluate(interpreter));
}

Value TestCall::evaluate(Interpreter& interpreter) const {
  const Value value = interpreter.evaluate(*subject);
  if (!test) throw problem("there is no test named '", name, "'");
  return test(value, arguments.evaluate(interpreter));
}

}  // namespace wick::jinja
