#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "text/grammar/grammar.h"
#include "text/grammar/rule_set.h"

namespace wick::grammar {

// The parts JSON is made of, as rules that are made once and called from then on.
class JsonPieces {
 public:
  static constexpr int kMaxWholeDigits = 18, kMaxFractionDigits = 24, kMaxExponentDigits = 2;

  JsonPieces(RuleSet& rules, JsonLayout layout) : rules_(rules), layout_(layout) {}

  ExprId value();   // of any kind
  ExprId object();  // with any members
  ExprId array();   // of any values
  ExprId string();
  ExprId number();
  ExprId integer();
  ExprId null() { return rules_.bytes("null"); }
  ExprId boolean() { return rules_.choice({rules_.bytes("true"), rules_.bytes("false")}); }

  // One character inside a string, escaped in any way JSON knows. Surrogates come in pairs, which are one character.
  ExprId character();
  // The characters of the set, each written in one way: as it is, or escaped if it must be.
  ExprId plain_chars(const CodepointSet& set);
  // Any such characters of which the first is not in the set, and a closing quote.
  ExprId rest_unlike(const CodepointSet& first);
  // The text as JSON, in quotes, each character written in one way.
  static std::string quoted(std::string_view text);

  // Punctuation with the whitespace the layout allows around it: '{', '}', '[', ']', ',' or ':'.
  ExprId mark(char punctuation);
  // Members or items between two marks.
  ExprId enclosed(char open, ExprId inside, char close) { return rules_.sequence({mark(open), inside, mark(close)}); }

 private:
  ExprId space();

  template <typename Make>
  ExprId once(std::optional<RuleId>& rule, const char* name, const Make& make);

  RuleSet& rules_;
  JsonLayout layout_;
  std::optional<RuleId> value_, object_, array_, string_, number_, integer_, character_, space_, escape_;
  std::vector<std::pair<CodepointSet, RuleId>> rests_;
};

}  // namespace wick::grammar
