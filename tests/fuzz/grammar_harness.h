#pragma once

#include <string_view>

namespace wick {

// Compiles the text as GBNF or as a JSON Schema, and walks along the masks. An Error is the right answer to a bad
// grammar; anything else (a crash, another exception, a mask that disagrees with what is accepted) is a finding and
// aborts.
void fuzz_grammar(std::string_view text);
void fuzz_schema(std::string_view text);

}  // namespace wick
