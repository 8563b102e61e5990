#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace wick {

// Renders the text as a template with a small conversation and small limits, and reads what comes out (or the text
// itself) as a model's answer in every format. An Error is the right answer to a bad template; anything else is a
// finding and aborts.
void fuzz_template(std::string_view source);

// Templates that use every statement, filter, test and method.
std::vector<std::string> template_seeds();

}  // namespace wick
