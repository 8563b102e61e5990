#pragma once

#include "grammar/state_table.h"
#include "grammar/token_mask.h"
#include "grammar/token_vocabulary.h"

namespace wick::grammar {

// The tokens whose bytes lead from the state to a live one, and the end tokens when the text may end here. Walks the
// tree of tokens and leaves out whole subtrees: those whose first byte does not match, and those that consist of
// characters the state reads in any order. Inside a long run of such characters, starts from the tokens known to leave
// it.
TokenMask walk_vocabulary(StateTable& states, State& from, const TokenVocabulary& vocabulary);

// Sets the mask's bits in `bits`, which are all clear. `text_bits` are those of the vocabulary.
void write_mask(const TokenMask& mask, std::span<const uint32_t> text_bits, std::span<uint32_t> bits);

}  // namespace wick::grammar
