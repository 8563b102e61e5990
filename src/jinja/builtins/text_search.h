#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "jinja/value.h"

namespace wick::jinja {

// Python's searches in texts. They are linear, and the work is charged.
size_t find_text(std::string_view text, std::string_view part, size_t from = 0);  // npos when there is none
size_t rfind_text(std::string_view text, std::string_view part);
int64_t count_text(std::string_view text, std::string_view part);
// count < 0: all.
std::string replace_text(std::string_view text, std::string_view old_text, std::string_view new_text, int64_t count);

// White space when `characters` is None, else any of those.
std::string strip_text(const Value& text, const Value& characters, bool left, bool right);

// Adds to what a text is taken apart into; throws when that becomes too much.
void add_part(std::vector<std::string_view>& parts, std::string_view part);
std::vector<std::string_view> split_lines(std::string_view text, bool keep_ends);

}  // namespace wick::jinja
