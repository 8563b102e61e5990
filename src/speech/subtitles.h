#pragma once

#include <string>
#include <string_view>

#include "speech/recognition.h"

namespace wick {

// A transcript as text: "text", "timed" ("[00:01.250 --> 00:03.000]  Hello."), or what players and editors read: "srt",
// "vtt", "tsv" (start and end in milliseconds, text). With times, line breaks and blanks in a row become one blank.
// Throws Error(kInvalidArgument) for another format.
std::string transcript_text(const Recognition& recognition, std::string_view format);
// Times as they stand in JSON: in seconds, to the millisecond.
double to_milliseconds(double seconds);

}  // namespace wick
