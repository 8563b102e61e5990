#pragma once

#include <functional>
#include <string>
#include <vector>

#include "grammar/automaton/text_machine.h"
#include "grammar/rule_set.h"
#include "grammar/schema/schema_graph.h"

namespace wick::grammar {

// The texts of a product. `chars` writes a set of characters; `finish` says what follows a text
// that leads to this state, never() where none may end. `length` limits the characters. Throws Error(kInvalidArgument)
// that begins with `place` when there are too many states.
ExprId compile_product(TextProduct& product, const Count& length, const std::string& place, RuleSet& rules,
                       const std::function<ExprId(const CodepointSet&)>& chars,
                       const std::function<ExprId(int state)>& finish);

// Exactly these texts, with their common beginnings shared.
ExprId compile_list(std::vector<std::string> texts, RuleSet& rules);

}  // namespace wick::grammar
