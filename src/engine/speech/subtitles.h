#pragma once

#include <string>
#include <string_view>

#include "engine/speech/recognition.h"

namespace wick {

// Texts with times, as players and editors read them. Line breaks and blanks in a row become one blank.
std::string to_srt(const Recognition& recognition);
std::string to_vtt(const Recognition& recognition);
std::string to_tsv(const Recognition& recognition);         // start, end (milliseconds), text
std::string to_timed_text(const Recognition& recognition);  // "[00:01.250 --> 00:03.000]  Hello."

}  // namespace wick
