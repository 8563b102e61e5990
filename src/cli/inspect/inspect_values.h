#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "formats/metadata.h"

namespace wick {

// 1234567 as "1.23 M", three digits at most; small ones as they are.
std::string count_text(int64_t count);
// 1234567 as "1,234,567".
std::string grouped_digits(int64_t count);

// A value of the metadata on one line, `most` columns at most; long arrays show their beginning and their length.
std::string value_text(const std::string& key, const MetaValue& value, int most);
// The same as JSON. Arrays of more than 64 elements become {"type", "count", "first"} unless `whole`.
nlohmann::ordered_json value_json(const std::string& key, const MetaValue& value, bool whole);
// "u32", "text", "array of i32".
std::string type_text(const MetaValue& value);

}  // namespace wick
