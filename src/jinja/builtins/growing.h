#pragma once

#include <string_view>

#include "jinja/value.h"

namespace wick::jinja {

// left + right. What is long and has not been extended yet grows in place (`left` keeps what it shows), so that prompts
// and lists built piece by piece cost as much as their pieces.
Value join_texts(const Value& left, std::string_view right);  // without regard to markup
std::shared_ptr<const Items> join_lists(const Items& left, const Items& right);

constexpr size_t kGrowingText = 512;  // bytes from which a text grows in place

}  // namespace wick::jinja
