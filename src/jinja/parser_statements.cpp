// Statements and the stream of tokens.
#include <algorithm>

#include "base/utf8.h"
#include "jinja/parser.h"
#include "jinja/parser_nesting.h"

namespace wick::jinja {
namespace {

std::string described(const Token& token) {
  switch (token.kind) {
    case TokenKind::kEnd: return "the end of the template";
    case TokenKind::kPrintEnd: return "'}}'";
    case TokenKind::kBlockEnd: return "'%}'";
    case TokenKind::kText: return cat("the text ", in_quotes(token.text));
    case TokenKind::kData:
    case TokenKind::kPrintBegin:
    case TokenKind::kBlockBegin: return "the end of the tag";
    default: return in_quotes(token.text);
  }
}

// Restores a value at the end of a scope.
template <typename T>
class Temporarily {
 public:
  Temporarily(T& variable, T value) : variable_(variable), previous_(std::exchange(variable, value)) {}
  ~Temporarily() { variable_ = previous_; }
  Temporarily(const Temporarily&) = delete;
  Temporarily& operator=(const Temporarily&) = delete;

 private:
  T& variable_;
  T previous_;
};

}  // namespace

Token Parser::next() {
  Token token = current();
  if (at_ + 1 < tokens_.size()) ++at_;
  return token;
}

bool Parser::at_name(std::string_view name) const {
  return current().kind == TokenKind::kName && current().text == name;
}

bool Parser::at_operator(std::string_view op) const {
  return current().kind == TokenKind::kOperator && current().text == op;
}

bool Parser::skip_name(std::string_view name) {
  if (!at_name(name)) return false;
  next();
  return true;
}

bool Parser::skip_operator(std::string_view op) {
  if (!at_operator(op)) return false;
  next();
  return true;
}

void Parser::expect_operator(std::string_view op) {
  if (!skip_operator(op)) throw fail(cat("expected '", op, "', found ", described(current())));
}

void Parser::expect_name(std::string_view name) {
  if (!skip_name(name)) throw fail(cat("expected '", name, "', found ", described(current())));
}

std::string Parser::expect_any_name() {
  if (current().kind != TokenKind::kName) throw fail(cat("expected a name, found ", described(current())));
  return next().text;
}

void Parser::expect(TokenKind kind, std::string_view what) {
  if (current().kind != kind) throw fail(cat("expected ", what, ", found ", described(current())));
  next();
}

Error Parser::fail(std::string_view message) const { return syntax_error(current().line, message); }
Error Parser::unexpected() const { return fail(cat("unexpected ", described(current()))); }

Body Parser::parse_template() {
  Body body = parse_body({});
  return body;
}

Body Parser::parse_body(const EndTags& end_tags) {
  const Nesting nesting(*this);
  Body body;
  while (current().kind != TokenKind::kEnd) {
    if (current().kind == TokenKind::kData) {
      auto data = std::make_unique<DataStatement>(current().line);
      data->text = next().text;
      body.push_back(std::move(data));
    } else if (current().kind == TokenKind::kPrintBegin) {
      auto print = std::make_unique<PrintStatement>(next().line);
      print->expression = parse_tuple();
      expect(TokenKind::kPrintEnd, "'}}'");
      body.push_back(std::move(print));
    } else {
      next();  // the beginning of a block
      const bool ends = std::any_of(end_tags.begin(), end_tags.end(), [&](auto tag) { return at_name(tag); });
      if (ends) return body;
      body.push_back(parse_statement());
      expect(TokenKind::kBlockEnd, "'%}'");
    }
  }
  if (!end_tags.empty()) throw fail(cat("the template ends where '", end_tags.back(), "' is expected"));
  return body;
}

Body Parser::parse_block_body(const EndTags& end_tags) {
  skip_operator(":");
  expect(TokenKind::kBlockEnd, "'%}'");
  return parse_body(end_tags);
}

Body Parser::parse_whole_block(std::string_view end_tag) {
  Body body = parse_block_body({end_tag});
  next();
  return body;
}

StatementPtr Parser::parse_statement() {
  struct Tag {
    std::string_view name;
    StatementPtr (Parser::*parse)(int line);
  };
  static constexpr Tag kTags[] = {
      {"if", &Parser::parse_if},
      {"for", &Parser::parse_for},
      {"set", &Parser::parse_set},
      {"macro", &Parser::parse_macro},
      {"call", &Parser::parse_call_block},
      {"filter", &Parser::parse_filter_block},
      {"with", &Parser::parse_with},
      {"generation", &Parser::parse_generation},
      {"break", &Parser::parse_break},
      {"continue", &Parser::parse_continue},
      {"print", &Parser::parse_print},
      {"block", &Parser::parse_block},
      {"autoescape", &Parser::parse_autoescape},
      {"include", &Parser::parse_load},
      {"import", &Parser::parse_load},
      {"from", &Parser::parse_load},
      {"extends", &Parser::parse_load},
  };
  if (current().kind != TokenKind::kName) throw fail("the name of a tag is missing");
  for (const Tag& tag : kTags) {
    if (!at_name(tag.name)) continue;
    const int line = current().line;
    if (tag.parse != &Parser::parse_load) next();
    return (this->*tag.parse)(line);
  }
  throw fail(cat("unknown tag ", in_quotes(current().text)));
}

StatementPtr Parser::parse_if(int line) {
  auto node = std::make_unique<IfStatement>(line);
  const Temporarily soft(may_be_skipped_, true);
  for (;;) {
    ExpressionPtr test = parse_tuple(false);
    Body body = parse_block_body({"elif", "else", "endif"});
    node->branches.emplace_back(std::move(test), std::move(body));
    const std::string tag = next().text;
    if (tag == "elif") continue;
    if (tag == "else") node->otherwise = parse_whole_block("endif");
    return node;
  }
}

StatementPtr Parser::parse_for(int line) {
  auto node = std::make_unique<ForStatement>(line);
  const Temporarily hard(may_be_skipped_, false);
  node->target = parse_target(false, "in");
  expect_name("in");
  node->iterable = parse_tuple(false, false, "recursive");
  if (skip_name("if")) node->test = parse_expression();
  node->recursive = skip_name("recursive");
  {
    const Temporarily inside(loops_, loops_ + 1);
    node->body = parse_block_body({"else", "endfor"});
  }
  if (next().text == "else") node->otherwise = parse_whole_block("endfor");
  return node;
}

ExpressionPtr Parser::parse_target(bool allow_fields, std::string_view end_name) {
  const int line = current().line;
  const auto parse_one = [&]() -> ExpressionPtr {
    if (skip_operator("(")) {
      const Nesting nesting(*this);
      ExpressionPtr inner = parse_target(allow_fields, {});
      expect_operator(")");
      return inner;
    }
    const std::string name = expect_any_name();
    for (const std::string_view constant : {"true", "false", "none", "True", "False", "None"}) {
      if (name == constant) throw fail(cat("'", name, "' cannot be assigned to"));
    }
    if (!allow_fields || !skip_operator(".")) return std::make_unique<Name>(line, name);
    auto field = std::make_unique<NamespaceField>(line);
    field->name = name;
    field->field = expect_any_name();
    return field;
  };
  auto tuple = std::make_unique<ListLiteral>(line);
  tuple->is_tuple = true;
  bool has_comma = false;
  while (!at_tuple_end(end_name) && !at_operator("=")) {
    tuple->items.push_back(parse_one());
    if (!skip_operator(",")) break;
    has_comma = true;
  }
  if (tuple->items.empty()) throw fail("a name to assign to is missing");
  if (!has_comma) return std::move(tuple->items[0]);
  return tuple;
}

StatementPtr Parser::parse_set(int line) {
  ExpressionPtr target = parse_target(true);
  if (skip_operator("=")) {
    auto node = std::make_unique<SetStatement>(line);
    node->target = std::move(target);
    node->value = parse_tuple();
    return node;
  }
  auto node = std::make_unique<SetBlock>(line);
  const Temporarily hard(may_be_skipped_, false);
  const Temporarily outside(loops_, 0);
  node->target = std::move(target);
  node->filter = parse_filter(nullptr);
  node->body = parse_whole_block("endset");
  return node;
}

StatementPtr Parser::parse_with(int line) {
  auto node = std::make_unique<WithStatement>(line);
  const Temporarily hard(may_be_skipped_, false);
  while (current().kind != TokenKind::kBlockEnd) {
    if (!node->assignments.empty()) expect_operator(",");
    ExpressionPtr target = parse_target(false);
    expect_operator("=");
    node->assignments.emplace_back(std::move(target), parse_expression());
  }
  node->body = parse_whole_block("endwith");
  return node;
}

StatementPtr Parser::parse_filter_block(int line) {
  auto node = std::make_unique<FilterBlock>(line);
  const Temporarily hard(may_be_skipped_, false);
  const Temporarily outside(loops_, 0);
  node->filter = parse_filter(nullptr, true);
  node->body = parse_whole_block("endfilter");
  return node;
}

void Parser::parse_signature(MacroDefinition& macro) {
  expect_operator("(");
  while (!at_operator(")")) {
    macro.parameters.push_back(expect_any_name());
    if (skip_operator("=")) {
      macro.defaults.push_back(parse_expression());
    } else if (!macro.defaults.empty()) {
      throw fail("a parameter without a default follows one with a default");
    }
    if (!at_operator(")")) expect_operator(",");
  }
  expect_operator(")");
}

void Parser::parse_macro_body(MacroDefinition& macro, std::string_view end_tag) {
  const Temporarily hard(may_be_skipped_, false);
  const Temporarily outside(loops_, 0);
  macros_.push_back(&macro);
  macro.body = parse_whole_block(end_tag);
  macros_.pop_back();
}

StatementPtr Parser::parse_macro(int line) {
  auto node = std::make_unique<MacroStatement>(line);
  node->macro.name = expect_any_name();
  parse_signature(node->macro);
  parse_macro_body(node->macro, "endmacro");
  return node;
}

StatementPtr Parser::parse_call_block(int line) {
  auto node = std::make_unique<CallBlock>(line);
  if (at_operator("(")) parse_signature(node->caller);
  ExpressionPtr call = parse_expression();
  if (!dynamic_cast<Call*>(call.get())) throw fail("'call' needs the call of a macro");
  node->call.reset(static_cast<Call*>(call.release()));
  node->caller.name = "caller";
  parse_macro_body(node->caller, "endcall");
  return node;
}

StatementPtr Parser::parse_block(int line) {
  auto node = std::make_unique<BlockStatement>(line);
  const Temporarily hard(may_be_skipped_, false);
  const Temporarily outside(loops_, 0);
  node->name = expect_any_name();
  if (!blocks_.emplace(node->name, node.get()).second) throw fail(cat("block '", node->name, "' defined twice"));
  node->sees_locals = skip_name("scoped");
  node->required = skip_name("required");
  node->body = parse_whole_block("endblock");
  skip_name(node->name);
  return node;
}

StatementPtr Parser::parse_generation(int line) {
  auto node = std::make_unique<BlockStatement>(line);
  const Temporarily hard(may_be_skipped_, false);
  const Temporarily outside(loops_, 0);
  node->sees_locals = true;
  node->body = parse_whole_block("endgeneration");
  return node;
}

StatementPtr Parser::parse_autoescape(int line) {
  auto node = std::make_unique<AutoescapeStatement>(line);
  node->value = parse_expression();
  node->body = parse_whole_block("endautoescape");
  return node;
}

StatementPtr Parser::parse_print(int line) {
  auto node = std::make_unique<PrintStatement>(line);
  auto texts = std::make_unique<Concatenation>(line);
  while (current().kind != TokenKind::kBlockEnd) {
    if (!texts->parts.empty()) expect_operator(",");
    texts->parts.push_back(parse_expression());
  }
  const int height = height_of(texts->parts);
  node->expression = with_height(std::move(texts), height);
  return node;
}

StatementPtr Parser::parse_break(int line) {
  if (loops_ == 0) throw fail("'break' stands outside a loop");
  return std::make_unique<LoopControl>(line, Flow::kBreak);
}

StatementPtr Parser::parse_continue(int line) {
  if (loops_ == 0) throw fail("'continue' stands outside a loop");
  return std::make_unique<LoopControl>(line, Flow::kContinue);
}

StatementPtr Parser::parse_load(int line) {
  auto node = std::make_unique<LoadStatement>(line);
  node->tag = next().text;
  while (current().kind != TokenKind::kBlockEnd && current().kind != TokenKind::kEnd) next();
  return node;
}

}  // namespace wick::jinja
