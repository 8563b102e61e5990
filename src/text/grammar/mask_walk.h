#pragma once

#include "text/grammar/state_table.h"
#include "text/grammar/token_mask.h"
#include "text/grammar/token_vocabulary.h"

namespace wick::grammar {

// The tokens whose bytes lead from the state to a live one, and the end tokens when the text may end here. Walks the
// tree of tokens and leaves out whole subtrees: those whose first byte does not match, and those that consist of
// characters the state reads in any order.
TokenMask walk_vocabulary(StateTable& states, State& from, const TokenVocabulary& vocabulary);

}  // namespace wick::grammar
