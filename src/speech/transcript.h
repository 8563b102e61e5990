#pragma once

#include <string>
#include <string_view>

#include "speech/qwen3_asr/asr_prompt.h"

namespace wick {

// What Qwen3-ASR has generated, read from "language English<asr_text>Hello."
struct Transcript {
  std::string language;  // "English"; empty: the model heard no speech, or did not say
  std::string text;
};

// `forced`: the language that the prompt ended with, or null; the model then writes the text alone. The tag never shows
// in the text. A pattern of up to 20 characters that comes more than 20 times in a row, as models write in noise, is
// kept once.
Transcript read_transcript(std::string_view generated, const Language* forced = nullptr);
// The same while the model is still writing: there is no text before the tag.
Transcript read_begun_transcript(std::string_view generated, const Language* forced = nullptr);

}  // namespace wick
