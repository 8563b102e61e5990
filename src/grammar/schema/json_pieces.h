#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "grammar/grammar.h"
#include "grammar/rule_set.h"

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
  // A string unlike all of these texts, which are sorted; each character is written in one way, so that strings differ
  // when texts do.
  ExprId text_unlike(const std::vector<std::vector<uint32_t>>& texts);
  // The text as JSON, in quotes, each character written in one way.
  static std::string quoted(std::string_view text);

  // Punctuation with the whitespace the layout allows around it: '{', '}', '[', ']', ',' or ':'.
  ExprId mark(char punctuation);
  // Members or items between two marks.
  ExprId enclosed(char open, ExprId inside, char close) { return rules_.sequence({mark(open), inside, mark(close)}); }

 private:
  ExprId space();
  ExprId make_mark(char punctuation);
  ExprId unlike(const std::vector<std::vector<uint32_t>>& texts, size_t begin, size_t end, size_t depth);
  ExprId rest_unlike(const CodepointSet& first);

  template <typename Make>
  ExprId once(std::optional<RuleId>& rule, const char* name, const Make& make);

  RuleSet& rules_;
  JsonLayout layout_;
  std::optional<RuleId> value_, object_, array_, string_, number_, integer_, character_, space_, escape_;
  std::vector<std::pair<CodepointSet, RuleId>> rests_;  // see rest_unlike
  std::map<std::vector<std::vector<uint32_t>>, RuleId> unlike_;
  std::array<std::optional<ExprId>, 128> marks_;
};

}  // namespace wick::grammar
