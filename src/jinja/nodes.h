#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "jinja/arguments.h"
#include "jinja/builtins/filters.h"
#include "jinja/builtins/tests.h"
#include "jinja/value.h"

namespace wick::jinja {

class Interpreter;

// An expression. `height` is that of the tree below it: the parser limits it, because trees are evaluated and freed by
// recursion.
struct Expression {
  explicit Expression(int at_line) : line(at_line) {}
  virtual ~Expression() = default;
  virtual Value evaluate(Interpreter& interpreter) const = 0;

  int line;
  int height = 1;
};
using ExpressionPtr = std::unique_ptr<Expression>;

struct Constant : Expression {
  Constant(int at_line, Value constant) : Expression(at_line), value(std::move(constant)) {}
  Value evaluate(Interpreter&) const override { return value; }
  Value value;
};

struct Name : Expression {
  Name(int at_line, std::string variable) : Expression(at_line), name(std::move(variable)) {}
  Value evaluate(Interpreter& interpreter) const override;
  std::string name;
};

// ns.name as the target of an assignment; never evaluated.
struct NamespaceField : Expression {
  using Expression::Expression;
  Value evaluate(Interpreter&) const override { return {}; }
  std::string name, field;
};

struct ListLiteral : Expression {
  using Expression::Expression;
  Value evaluate(Interpreter& interpreter) const override;
  std::vector<ExpressionPtr> items;
  bool is_tuple = false;
};

struct DictLiteral : Expression {
  using Expression::Expression;
  Value evaluate(Interpreter& interpreter) const override;
  std::vector<std::pair<ExpressionPtr, ExpressionPtr>> entries;
};

struct Unary : Expression {
  using Expression::Expression;
  Value evaluate(Interpreter& interpreter) const override;
  Value (*operation)(const Value&) = nullptr;
  ExpressionPtr operand;
};

struct Binary : Expression {
  using Expression::Expression;
  Value evaluate(Interpreter& interpreter) const override;
  Value (*operation)(const Value&, const Value&) = nullptr;
  ExpressionPtr left, right;
};

struct Logic : Expression {  // and, or: gives one of its operands
  using Expression::Expression;
  Value evaluate(Interpreter& interpreter) const override;
  bool is_and = false;
  ExpressionPtr left, right;
};

struct Comparison : Expression {  // a < b <= c
  using Expression::Expression;
  using Operation = bool (*)(const Value&, const Value&);
  Value evaluate(Interpreter& interpreter) const override;
  ExpressionPtr first;
  std::vector<std::pair<Operation, ExpressionPtr>> rest;
};

struct Concatenation : Expression {  // a ~ b ~ c
  using Expression::Expression;
  Value evaluate(Interpreter& interpreter) const override;
  std::vector<ExpressionPtr> parts;
};

struct Conditional : Expression {  // a if test else b
  using Expression::Expression;
  Value evaluate(Interpreter& interpreter) const override;
  ExpressionPtr test, yes, no;  // `no` may be null: undefined
};

struct AttributeAccess : Expression {
  using Expression::Expression;
  Value evaluate(Interpreter& interpreter) const override;
  ExpressionPtr object;
  std::string name;
};

struct Subscript : Expression {
  using Expression::Expression;
  Value evaluate(Interpreter& interpreter) const override;
  ExpressionPtr object, key;
};

struct SliceAccess : Expression {
  using Expression::Expression;
  Value evaluate(Interpreter& interpreter) const override;
  ExpressionPtr object, start, stop, step;  // all but the object may be null
};

struct CallArguments {
  std::vector<ExpressionPtr> positional;
  std::vector<std::pair<std::string, ExpressionPtr>> named;
  ExpressionPtr star, double_star;  // *list, **dict; may be null

  Arguments evaluate(Interpreter& interpreter) const;
};

struct Call : Expression {
  using Expression::Expression;
  Value evaluate(Interpreter& interpreter) const override;
  ExpressionPtr callee;
  CallArguments arguments;
};

struct FilterCall : Expression {
  using Expression::Expression;
  Value evaluate(Interpreter& interpreter) const override;
  Value apply(Interpreter& interpreter, const Value& subject) const;
  std::string name;
  Filter filter = nullptr;  // null: unknown, an error once it is reached
  ExpressionPtr subject;    // null inside filter and set blocks: their text
  CallArguments arguments;
};

struct TestCall : Expression {
  using Expression::Expression;
  Value evaluate(Interpreter& interpreter) const override;
  std::string name;
  Test test = nullptr;
  ExpressionPtr subject;
  CallArguments arguments;
};

enum class Flow : uint8_t { kNormal, kBreak, kContinue };

struct Statement {
  explicit Statement(int at_line) : line(at_line) {}
  virtual ~Statement() = default;
  virtual Flow execute(Interpreter& interpreter) const = 0;
  int line;
};
using StatementPtr = std::unique_ptr<Statement>;
using Body = std::vector<StatementPtr>;

struct DataStatement : Statement {
  using Statement::Statement;
  Flow execute(Interpreter& interpreter) const override;
  std::string text;
};

struct PrintStatement : Statement {
  using Statement::Statement;
  Flow execute(Interpreter& interpreter) const override;
  ExpressionPtr expression;
};

struct IfStatement : Statement {
  using Statement::Statement;
  Flow execute(Interpreter& interpreter) const override;
  std::vector<std::pair<ExpressionPtr, Body>> branches;  // if, elif, ...
  Body otherwise;
};

struct ForStatement : Statement {
  using Statement::Statement;
  Flow execute(Interpreter& interpreter) const override;
  ExpressionPtr target, iterable, test;  // the test may be null
  bool recursive = false;
  Body body, otherwise;
};

struct SetStatement : Statement {
  using Statement::Statement;
  Flow execute(Interpreter& interpreter) const override;
  ExpressionPtr target, value;
};

struct SetBlock : Statement {
  using Statement::Statement;
  Flow execute(Interpreter& interpreter) const override;
  ExpressionPtr target;
  ExpressionPtr filter;  // null: none
  Body body;
};

struct WithStatement : Statement {
  using Statement::Statement;
  Flow execute(Interpreter& interpreter) const override;
  std::vector<std::pair<ExpressionPtr, ExpressionPtr>> assignments;
  Body body;
};

struct FilterBlock : Statement {
  using Statement::Statement;
  Flow execute(Interpreter& interpreter) const override;
  ExpressionPtr filter;
  Body body;
};

// What a macro and the body of a call block share.
struct MacroDefinition {
  std::string name;  // empty for a call block
  std::vector<std::string> parameters;
  std::vector<ExpressionPtr> defaults;  // of the last parameters
  Body body;
  // The body mentions these, so the macro accepts them.
  bool uses_caller = false, uses_varargs = false, uses_kwargs = false;
};

struct MacroStatement : Statement {
  using Statement::Statement;
  Flow execute(Interpreter& interpreter) const override;
  MacroDefinition macro;
};

struct CallBlock : Statement {
  using Statement::Statement;
  Flow execute(Interpreter& interpreter) const override;
  MacroDefinition caller;
  std::unique_ptr<Call> call;
};

struct BlockStatement : Statement {  // {% block %}, {% generation %}
  using Statement::Statement;
  Flow execute(Interpreter& interpreter) const override;
  std::string name;  // empty for {% generation %}
  Body body;
  bool sees_locals = false, required = false;
};
// Those with a name, wherever they stand: self.name() renders one.
using Blocks = std::map<std::string, const BlockStatement*, std::less<>>;

struct AutoescapeStatement : Statement {
  using Statement::Statement;
  Flow execute(Interpreter& interpreter) const override;
  ExpressionPtr value;
  Body body;
};

struct LoopControl : Statement {
  LoopControl(int at_line, Flow what) : Statement(at_line), flow(what) {}
  Flow execute(Interpreter&) const override { return flow; }
  Flow flow;
};

struct LoadStatement : Statement {  // include, import, extends: there is nowhere to load from
  using Statement::Statement;
  Flow execute(Interpreter& interpreter) const override;
  std::string tag;
};

}  // namespace wick::jinja
