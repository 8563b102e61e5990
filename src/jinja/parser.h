#pragma once

#include <string_view>
#include <vector>

#include "jinja/lexer.h"
#include "jinja/nodes.h"

namespace wick::jinja {

// Turns tokens into a tree. Throws Error(kBadFile) "line 3: ...".
class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  Body parse_template();
  Blocks take_blocks() { return std::move(blocks_); }  // of the template that was parsed

 private:
  class Nesting;  // counts the recursion, and throws where it gets too deep

  // Tokens.
  const Token& current() const { return tokens_[at_]; }
  const Token& look_ahead() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  Token next();
  bool at_name(std::string_view name) const;
  bool at_operator(std::string_view op) const;
  bool skip_name(std::string_view name);
  bool skip_operator(std::string_view op);
  void expect_operator(std::string_view op);
  void expect_name(std::string_view name);
  std::string expect_any_name();
  void expect(TokenKind kind, std::string_view what);
  Error fail(std::string_view message) const;
  Error unexpected() const;

  // Statements: parser_statements.cpp.
  using EndTags = std::vector<std::string_view>;
  Body parse_body(const EndTags& end_tags);        // up to an end tag, which stays current
  Body parse_block_body(const EndTags& end_tags);  // the same after the opening tag's end
  Body parse_whole_block(std::string_view end_tag);
  StatementPtr parse_statement();
  StatementPtr parse_for(int line);
  StatementPtr parse_if(int line);
  StatementPtr parse_set(int line);
  StatementPtr parse_with(int line);
  StatementPtr parse_filter_block(int line);
  StatementPtr parse_macro(int line);
  StatementPtr parse_call_block(int line);
  StatementPtr parse_block(int line);
  StatementPtr parse_generation(int line);
  StatementPtr parse_autoescape(int line);
  StatementPtr parse_print(int line);
  StatementPtr parse_break(int line);
  StatementPtr parse_continue(int line);
  StatementPtr parse_load(int line);
  void parse_signature(MacroDefinition& macro);
  void parse_macro_body(MacroDefinition& macro, std::string_view end_tag);
  ExpressionPtr parse_target(bool allow_fields, std::string_view end_name = {});

  // Expressions: parser_expressions.cpp.
  ExpressionPtr parse_expression(bool with_conditional = true);
  ExpressionPtr parse_tuple(bool with_conditional = true, bool in_parentheses = false, std::string_view end_name = {});
  ExpressionPtr parse_conditional();
  ExpressionPtr parse_or();
  ExpressionPtr parse_and();
  ExpressionPtr parse_not();
  ExpressionPtr parse_comparison();
  ExpressionPtr parse_sum();
  ExpressionPtr parse_concatenation();
  ExpressionPtr parse_product();
  ExpressionPtr parse_power();
  ExpressionPtr parse_unary(bool with_filters = true);
  ExpressionPtr parse_primary();
  ExpressionPtr parse_list();
  ExpressionPtr parse_dict();
  ExpressionPtr parse_postfix(ExpressionPtr node);
  ExpressionPtr parse_filters_and_tests(ExpressionPtr node);
  ExpressionPtr parse_subscript(ExpressionPtr object);
  ExpressionPtr parse_call(ExpressionPtr callee);
  CallArguments parse_arguments();
  ExpressionPtr parse_filter(ExpressionPtr subject, bool without_pipe = false);
  ExpressionPtr parse_test(ExpressionPtr subject);
  std::string parse_dotted_name();
  bool at_tuple_end(std::string_view end_name) const;
  // Sets the height of a node whose children are in place.
  template <typename Node>
  ExpressionPtr finished(std::unique_ptr<Node> node, std::initializer_list<const Expression*> children,
                         const CallArguments* arguments = nullptr);
  int height_of(const std::vector<ExpressionPtr>& nodes) const;
  ExpressionPtr with_height(ExpressionPtr node, int below) const;

  std::vector<Token> tokens_;
  size_t at_ = 0;
  int nesting_ = 0;
  int loops_ = 0;                         // open around the current statement, for break and continue
  bool may_be_skipped_ = false;           // inside an if: unknown filters are an error only when reached
  std::vector<MacroDefinition*> macros_;  // open around the current expression
  Blocks blocks_;
};

}  // namespace wick::jinja
