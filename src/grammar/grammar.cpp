#include "grammar/grammar.h"

#include "grammar/automaton/match_cache.h"
#include "grammar/gbnf.h"
#include "grammar/schema/json_pieces.h"
#include "grammar/schema/json_schema.h"

namespace wick {
namespace {

using grammar::CompiledGrammar;
using grammar::RuleId;
using grammar::RuleSet;

std::shared_ptr<CompiledGrammar> compile(const RuleSet& rules, RuleId root) {
  return std::make_shared<CompiledGrammar>(grammar::compile_automaton(rules, root));
}

}  // namespace

Grammar Grammar::from_gbnf(std::string_view text) {
  RuleSet rules;
  const RuleId root = grammar::parse_gbnf(text, rules);
  return Grammar(compile(rules, root));
}

Grammar Grammar::json(JsonLayout layout) {
  RuleSet rules;
  const RuleId root = rules.add_rule("json");
  rules.define(root, grammar::JsonPieces(rules, layout).value());
  return Grammar(compile(rules, root));
}

Grammar Grammar::json_object(JsonLayout layout) {
  RuleSet rules;
  const RuleId root = rules.add_rule("json");
  rules.define(root, grammar::JsonPieces(rules, layout).object());
  return Grammar(compile(rules, root));
}

Grammar Grammar::from_json_schema(const Json& schema, JsonLayout layout, MemberOrder order) {
  RuleSet rules;
  const RuleId root = grammar::compile_json_schema(schema, layout, order, rules);
  return Grammar(compile(rules, root));
}

}  // namespace wick
