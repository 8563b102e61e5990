#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "grammar/automaton/pattern_machine.h"
#include "grammar/schema/schema_graph.h"

namespace wick::grammar {

// The patterns and formats of a schema, compiled once each.
class SchemaTexts {
 public:
  struct Pattern {
    std::optional<ExprId> plain;  // without assertions, in chars()
    ExprId found = 0;             // the same with them; see found_anywhere
  };
  const Pattern& pattern(std::string_view text, std::string_view place);
  RuleSet& chars() { return chars_; }

  // Of kPattern, kFormat and kTexts; null for a format that says nothing about characters. Formats are written in one
  // of their ways: the opposite of a format is the opposite of a wider one.
  TextMachine* machine(const SchemaNode& node, bool is_opposite);
  // Null as above.
  const Pattern* pattern_of(const SchemaNode& node);

 private:
  TextMachine& machine_of(std::string_view text, std::string_view place);

  RuleSet chars_;
  std::unordered_map<std::string, Pattern> patterns_;
  std::unordered_map<std::string, std::unique_ptr<PatternMachine>> machines_;
  std::unordered_map<const SchemaNode*, std::unique_ptr<TextList>> lists_;
};

}  // namespace wick::grammar
