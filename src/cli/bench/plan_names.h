#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace wick {

// "q8_0 q4_k_m ..."
std::string listed(const std::vector<std::string_view>& names);

// Puts the name of a QuantizePlan into small letters. Empty when it is one of `names`; else a sentence that lists them.
std::string check_plan_name(std::string& name, const std::vector<std::string_view>& names);

}  // namespace wick
