// Expressions, from the loosest binding operator to the tightest, in the order of Jinja2's grammar.
#include <algorithm>
#include <array>

#include "base/utf8.h"
#include "jinja/arithmetic.h"
#include "jinja/compare.h"
#include "jinja/parser.h"
#include "jinja/parser_nesting.h"

namespace wick::jinja {
namespace {

constexpr int kMaxHeight = 250;

struct BinaryOperator {
  std::string_view symbol;
  Value (*operation)(const Value&, const Value&);
};
constexpr BinaryOperator kSums[] = {{"+", add}, {"-", subtract}};
constexpr BinaryOperator kProducts[] = {{"*", multiply}, {"/", divide}, {"//", floor_divide}, {"%", modulo}};

struct ComparisonOperator {
  std::string_view symbol;
  Comparison::Operation operation;
};
constexpr ComparisonOperator kComparisons[] = {
    {"==", [](const Value& a, const Value& b) { return equal(a, b); }},
    {"!=", [](const Value& a, const Value& b) { return !equal(a, b); }},
    {"<", [](const Value& a, const Value& b) { return less(a, b); }},
    {">", [](const Value& a, const Value& b) { return less(b, a, ">"); }},
    {"<=", [](const Value& a, const Value& b) { return less_or_equal(a, b); }},
    {">=", [](const Value& a, const Value& b) { return less_or_equal(b, a, ">="); }},
};

Value logical_not(const Value& value) { return !value.truthy(); }
bool is_in(const Value& item, const Value& container) { return contains(container, item); }
bool is_not_in(const Value& item, const Value& container) { return !contains(container, item); }

}  // namespace

ExpressionPtr Parser::with_height(ExpressionPtr node, int below) const {
  node->height = below + 1;
  if (node->height > kMaxHeight) {
    throw fail(cat("the expression is nested deeper than ", kMaxHeight, " levels"));
  }
  return node;
}

int Parser::height_of(const std::vector<ExpressionPtr>& nodes) const {
  int height = 0;
  for (const auto& node : nodes) height = std::max(height, node->height);
  return height;
}

template <typename Node>
ExpressionPtr Parser::finished(std::unique_ptr<Node> node, std::initializer_list<const Expression*> children,
                               const CallArguments* arguments) {
  int height = 0;
  for (const Expression* child : children) height = std::max(height, child ? child->height : 0);
  if (arguments) {
    height = std::max(height, height_of(arguments->positional));
    for (const auto& [name, value] : arguments->named) height = std::max(height, value->height);
    for (const auto* more : {arguments->star.get(), arguments->double_star.get()}) {
      height = std::max(height, more ? more->height : 0);
    }
  }
  return with_height(std::move(node), height);
}

ExpressionPtr Parser::parse_expression(bool with_conditional) {
  const Nesting nesting(*this);
  return with_conditional ? parse_conditional() : parse_or();
}

ExpressionPtr Parser::parse_conditional() {
  ExpressionPtr value = parse_or();
  while (at_name("if")) {
    auto node = std::make_unique<Conditional>(next().line);
    node->yes = std::move(value);
    node->test = parse_or();
    if (skip_name("else")) {
      const Nesting nesting(*this);
      node->no = parse_conditional();
    }
    const auto* raw = node.get();
    value = finished(std::move(node), {raw->test.get(), raw->yes.get(), raw->no.get()});
  }
  return value;
}

ExpressionPtr Parser::parse_or() {
  ExpressionPtr left = parse_and();
  while (at_name("or")) {
    auto node = std::make_unique<Logic>(next().line);
    node->left = std::move(left);
    node->right = parse_and();
    const auto* raw = node.get();
    left = finished(std::move(node), {raw->left.get(), raw->right.get()});
  }
  return left;
}

ExpressionPtr Parser::parse_and() {
  ExpressionPtr left = parse_not();
  while (at_name("and")) {
    auto node = std::make_unique<Logic>(next().line);
    node->is_and = true;
    node->left = std::move(left);
    node->right = parse_not();
    const auto* raw = node.get();
    left = finished(std::move(node), {raw->left.get(), raw->right.get()});
  }
  return left;
}

ExpressionPtr Parser::parse_not() {
  if (!at_name("not")) return parse_comparison();
  const Nesting nesting(*this);
  auto node = std::make_unique<Unary>(next().line);
  node->operation = logical_not;
  node->operand = parse_not();
  const auto* raw = node.get();
  return finished(std::move(node), {raw->operand.get()});
}

ExpressionPtr Parser::parse_comparison() {
  ExpressionPtr first = parse_sum();
  auto node = std::make_unique<Comparison>(current().line);
  int height = first->height;
  for (;;) {
    Comparison::Operation operation = nullptr;
    if (current().kind == TokenKind::kOperator) {
      for (const auto& known : kComparisons) {
        if (current().text == known.symbol) operation = known.operation;
      }
      if (!operation) break;
      next();
    } else if (skip_name("in")) {
      operation = is_in;
    } else if (at_name("not") && look_ahead().kind == TokenKind::kName && look_ahead().text == "in") {
      next();
      next();
      operation = is_not_in;
    } else {
      break;
    }
    node->rest.emplace_back(operation, parse_sum());
    height = std::max(height, node->rest.back().second->height);
  }
  if (node->rest.empty()) return first;
  node->first = std::move(first);
  return with_height(std::move(node), height);
}

ExpressionPtr Parser::parse_sum() {
  ExpressionPtr left = parse_concatenation();
  for (;;) {
    const auto* found = std::find_if(std::begin(kSums), std::end(kSums),
                                     [&](const BinaryOperator& op) { return at_operator(op.symbol); });
    if (found == std::end(kSums)) return left;
    auto node = std::make_unique<Binary>(next().line);
    node->operation = found->operation;
    node->left = std::move(left);
    node->right = parse_concatenation();
    const auto* raw = node.get();
    left = finished(std::move(node), {raw->left.get(), raw->right.get()});
  }
}

ExpressionPtr Parser::parse_concatenation() {
  ExpressionPtr first = parse_product();
  if (!at_operator("~")) return first;
  auto node = std::make_unique<Concatenation>(current().line);
  node->parts.push_back(std::move(first));
  while (skip_operator("~")) node->parts.push_back(parse_product());
  const int height = height_of(node->parts);
  return with_height(std::move(node), height);
}

ExpressionPtr Parser::parse_product() {
  ExpressionPtr left = parse_power();
  for (;;) {
    const auto* found = std::find_if(std::begin(kProducts), std::end(kProducts),
                                     [&](const BinaryOperator& op) { return at_operator(op.symbol); });
    if (found == std::end(kProducts)) return left;
    auto node = std::make_unique<Binary>(next().line);
    node->operation = found->operation;
    node->left = std::move(left);
    node->right = parse_power();
    const auto* raw = node.get();
    left = finished(std::move(node), {raw->left.get(), raw->right.get()});
  }
}

ExpressionPtr Parser::parse_power() {
  ExpressionPtr left = parse_unary();
  while (at_operator("**")) {
    auto node = std::make_unique<Binary>(next().line);
    node->operation = power;
    node->left = std::move(left);
    node->right = parse_unary();
    const auto* raw = node.get();
    left = finished(std::move(node), {raw->left.get(), raw->right.get()});
  }
  return left;
}

ExpressionPtr Parser::parse_unary(bool with_filters) {
  ExpressionPtr node;
  if (at_operator("-") || at_operator("+")) {
    const Nesting nesting(*this);
    const Token token = next();
    auto unary = std::make_unique<Unary>(token.line);
    unary->operation = token.text == "-" ? negate : plus;
    unary->operand = parse_unary(false);
    const auto* raw = unary.get();
    node = finished(std::move(unary), {raw->operand.get()});
  } else {
    node = parse_primary();
  }
  node = parse_postfix(std::move(node));
  return with_filters ? parse_filters_and_tests(std::move(node)) : std::move(node);
}

ExpressionPtr Parser::parse_primary() {
  const Token& token = current();
  const int line = token.line;
  if (token.kind == TokenKind::kName) {
    const std::string name = next().text;
    if (name == "true" || name == "True") return std::make_unique<Constant>(line, true);
    if (name == "false" || name == "False") return std::make_unique<Constant>(line, false);
    if (name == "none" || name == "None") return std::make_unique<Constant>(line, nullptr);
    for (MacroDefinition* macro : macros_) {
      if (name == "caller") macro->uses_caller = true;
      if (name == "varargs") macro->uses_varargs = true;
      if (name == "kwargs") macro->uses_kwargs = true;
    }
    return std::make_unique<Name>(line, name);
  }
  if (token.kind == TokenKind::kText) {
    std::string text;
    while (current().kind == TokenKind::kText) text += next().text;
    return std::make_unique<Constant>(line, std::move(text));
  }
  if (token.kind == TokenKind::kNumber) return std::make_unique<Constant>(line, next().value);
  if (skip_operator("(")) {
    ExpressionPtr node = parse_tuple(true, true);
    expect_operator(")");
    return node;
  }
  if (at_operator("[")) return parse_list();
  if (at_operator("{")) return parse_dict();
  throw unexpected();
}

bool Parser::at_tuple_end(std::string_view end_name) const {
  return current().kind == TokenKind::kPrintEnd || current().kind == TokenKind::kBlockEnd || at_operator(")") ||
         (!end_name.empty() && at_name(end_name));
}

ExpressionPtr Parser::parse_tuple(bool with_conditional, bool in_parentheses, std::string_view end_name) {
  auto tuple = std::make_unique<ListLiteral>(current().line);
  tuple->is_tuple = true;
  bool has_comma = false;
  while (!at_tuple_end(end_name)) {
    tuple->items.push_back(parse_expression(with_conditional));
    if (!skip_operator(",")) break;
    has_comma = true;
  }
  if (!has_comma) {
    if (!tuple->items.empty()) return std::move(tuple->items[0]);
    if (!in_parentheses) throw fail("an expression is missing");
  }
  const int height = height_of(tuple->items);
  return with_height(std::move(tuple), height);
}

ExpressionPtr Parser::parse_list() {
  auto list = std::make_unique<ListLiteral>(next().line);
  while (!at_operator("]")) {
    list->items.push_back(parse_expression());
    if (!at_operator("]")) expect_operator(",");
  }
  expect_operator("]");
  const int height = height_of(list->items);
  return with_height(std::move(list), height);
}

ExpressionPtr Parser::parse_dict() {
  auto dict = std::make_unique<DictLiteral>(next().line);
  int height = 0;
  while (!at_operator("}")) {
    ExpressionPtr key = parse_expression();
    expect_operator(":");
    ExpressionPtr value = parse_expression();
    height = std::max({height, key->height, value->height});
    dict->entries.emplace_back(std::move(key), std::move(value));
    if (!at_operator("}")) expect_operator(",");
  }
  expect_operator("}");
  return with_height(std::move(dict), height);
}

ExpressionPtr Parser::parse_postfix(ExpressionPtr node) {
  for (;;) {
    if (at_operator(".") || at_operator("[")) {
      node = parse_subscript(std::move(node));
    } else if (at_operator("(")) {
      node = parse_call(std::move(node));
    } else {
      return node;
    }
  }
}

ExpressionPtr Parser::parse_filters_and_tests(ExpressionPtr node) {
  for (;;) {
    if (at_operator("|")) {
      node = parse_filter(std::move(node));
    } else if (at_name("is")) {
      node = parse_test(std::move(node));
    } else if (at_operator("(")) {
      node = parse_call(std::move(node));
    } else {
      return node;
    }
  }
}

ExpressionPtr Parser::parse_subscript(ExpressionPtr object) {
  const Token open = next();
  if (open.text == ".") {
    if (current().kind == TokenKind::kName) {
      auto node = std::make_unique<AttributeAccess>(open.line);
      node->object = std::move(object);
      node->name = next().text;
      const auto* raw = node.get();
      return finished(std::move(node), {raw->object.get()});
    }
    if (current().kind != TokenKind::kNumber || !current().value.is_int()) throw fail("a name is missing after '.'");
    auto node = std::make_unique<Subscript>(open.line);
    node->object = std::move(object);
    node->key = std::make_unique<Constant>(open.line, next().value);
    const auto* raw = node.get();
    return finished(std::move(node), {raw->object.get()});
  }
  ExpressionPtr start;
  if (!at_operator(":") && !at_operator("]")) start = parse_expression();
  if (skip_operator(":")) {
    auto node = std::make_unique<SliceAccess>(open.line);
    node->object = std::move(object);
    node->start = std::move(start);
    if (!at_operator(":") && !at_operator("]")) node->stop = parse_expression();
    if (skip_operator(":") && !at_operator("]")) node->step = parse_expression();
    expect_operator("]");
    const auto* raw = node.get();
    return finished(std::move(node), {raw->object.get(), raw->start.get(), raw->stop.get(), raw->step.get()});
  }
  if (!start || at_operator(",")) {  // a[] and a[1, 2] take a tuple
    auto tuple = std::make_unique<ListLiteral>(open.line);
    tuple->is_tuple = true;
    if (start) tuple->items.push_back(std::move(start));
    while (skip_operator(",") && !at_operator("]")) tuple->items.push_back(parse_expression());
    const int height = height_of(tuple->items);
    start = with_height(std::move(tuple), height);
  }
  expect_operator("]");
  auto node = std::make_unique<Subscript>(open.line);
  node->object = std::move(object);
  node->key = std::move(start);
  const auto* raw = node.get();
  return finished(std::move(node), {raw->object.get(), raw->key.get()});
}

CallArguments Parser::parse_arguments() {
  CallArguments arguments;
  expect_operator("(");
  const auto wrong = [&] { return fail("the arguments of a call are in the wrong order"); };
  while (!at_operator(")")) {
    if (skip_operator("*")) {
      if (arguments.star || arguments.double_star) throw wrong();
      arguments.star = parse_expression();
    } else if (skip_operator("**")) {
      if (arguments.double_star) throw wrong();
      arguments.double_star = parse_expression();
    } else if (current().kind == TokenKind::kName && look_ahead().kind == TokenKind::kOperator &&
               look_ahead().text == "=") {
      if (arguments.double_star) throw wrong();
      std::string name = next().text;
      next();
      arguments.named.emplace_back(std::move(name), parse_expression());
    } else {
      if (arguments.star || arguments.double_star || !arguments.named.empty()) throw wrong();
      arguments.positional.push_back(parse_expression());
    }
    if (!at_operator(")")) expect_operator(",");
  }
  expect_operator(")");
  return arguments;
}

ExpressionPtr Parser::parse_call(ExpressionPtr callee) {
  auto node = std::make_unique<Call>(current().line);
  node->callee = std::move(callee);
  node->arguments = parse_arguments();
  const auto* raw = node.get();
  return finished(std::move(node), {raw->callee.get()}, &raw->arguments);
}

std::string Parser::parse_dotted_name() {
  std::string name = expect_any_name();
  while (skip_operator(".")) name += "." + expect_any_name();
  return name;
}

ExpressionPtr Parser::parse_filter(ExpressionPtr subject, bool without_pipe) {
  while (at_operator("|") || without_pipe) {
    if (!without_pipe) next();
    without_pipe = false;
    auto node = std::make_unique<FilterCall>(current().line);
    node->name = parse_dotted_name();
    node->filter = find_filter(node->name);
    if (!node->filter && !may_be_skipped_) throw fail(cat("there is no filter named ", in_quotes(node->name)));
    node->subject = std::move(subject);
    if (at_operator("(")) node->arguments = parse_arguments();
    const auto* raw = node.get();
    subject = finished(std::move(node), {raw->subject.get()}, &raw->arguments);
  }
  return subject;
}

ExpressionPtr Parser::parse_test(ExpressionPtr subject) {
  auto node = std::make_unique<TestCall>(next().line);
  const bool negated = skip_name("not");
  node->name = parse_dotted_name();
  node->test = find_test(node->name);
  if (!node->test && !may_be_skipped_) throw fail(cat("there is no test named ", in_quotes(node->name)));
  node->subject = std::move(subject);
  const TokenKind kind = current().kind;
  const bool argument_follows = (kind == TokenKind::kName && !at_name("else") && !at_name("or") && !at_name("and")) ||
                                kind == TokenKind::kText || kind == TokenKind::kNumber || at_operator("[") ||
                                at_operator("{");
  if (at_operator("(")) {
    node->arguments = parse_arguments();
  } else if (argument_follows) {
    if (at_name("is")) throw fail("tests cannot be chained with 'is'");
    node->arguments.positional.push_back(parse_postfix(parse_primary()));
  }
  const auto* raw = node.get();
  ExpressionPtr result = finished(std::move(node), {raw->subject.get()}, &raw->arguments);
  if (!negated) return result;
  auto inverse = std::make_unique<Unary>(result->line);
  inverse->operation = logical_not;
  inverse->operand = std::move(result);
  const auto* outer = inverse.get();
  return finished(std::move(inverse), {outer->operand.get()});
}

}  // namespace wick::jinja
