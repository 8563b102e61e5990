#pragma once

#include <optional>
#include <string_view>

#include "jinja/value.h"

namespace wick {

// Clients send the arguments of earlier tool calls as JSON text, while most templates walk over a mapping or write one
// as JSON. The messages with each text that is a JSON object read as one; empty when there is none.
std::optional<jinja::Value> with_parsed_arguments(const jinja::Value& messages);

// Some templates put the text itself into the prompt. Given a mapping, they write it as Python would: whether
// `rendered` has one of the arguments of `parsed` in that form.
bool shows_python_arguments(std::string_view rendered, const jinja::Value& parsed);

// Whether each of the argument texts of `messages` stands in `rendered`.
bool shows_argument_texts(std::string_view rendered, const jinja::Value& messages);

}  // namespace wick
