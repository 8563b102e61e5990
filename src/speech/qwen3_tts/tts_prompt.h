#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "speech/qwen3_tts/qwen3_tts.h"

namespace wick {

// What is to be said and by whom, in tokens.
struct TtsInput {
  std::vector<int32_t> text;         // without what stands around it
  std::vector<int32_t> role;         // the three tokens before it
  std::vector<int32_t> instruction;  // the whole turn; empty: none
  std::optional<int32_t> language;   // its code; empty: to be found out
  std::optional<int32_t> speaker;    // a code
  Tensor voice;                      // f32 [hidden], instead of a speaker; undefined: none
  // A reference that is continued in its voice: what it says and its frames of codes. Empty: none.
  std::vector<int32_t> reference_text, reference_codes;
  bool streams_text = false;  // the text comes while there is sound already
};

// The rows that the talker reads, and those of text that are added to the frames it makes, one each; behind the last of
// those, `pad` is.
struct TtsPrompt {
  Tensor rows;      // f32 [positions, hidden]
  Tensor trailing;  // f32 [count, hidden]
  Tensor pad;       // f32 [1, hidden]
};
// Throws Error(kInvalidArgument) for a text that is empty.
TtsPrompt make_tts_prompt(const Qwen3Tts& model, const TtsInput& input);

// The code of a language for a speaker, whose dialect it may become; empty for "auto". Names are matched in lower case.
// Throws Error(kInvalidArgument) with the languages there are.
std::optional<int32_t> tts_language(const TtsConfig& config, std::string_view name, std::string_view speaker);
// Throws Error(kInvalidArgument) with the speakers there are.
std::string tts_speaker(const TtsConfig& config, std::string_view name);

}  // namespace wick
