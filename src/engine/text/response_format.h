#pragma once

#include <string_view>

#include "chat/response_parser.h"
#include "engine/text/text_model.h"

namespace wick {

// How the model's answer to this prompt is written: as its template tells, and with the thinking markers of its
// vocabulary where the template is silent.
ResponseFormat response_format_of(const TextModel& model, std::string_view prompt, bool with_tools);

// Whether the format's markers are control tokens, which are not part of a text unless asked for.
bool needs_special(const ResponseFormat& format, const Tokenizer& tokenizer);

}  // namespace wick
