#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/json.h"
#include "models/decoder/decoder_config.h"

namespace wick {

enum class TtsKind : uint8_t { kCustomVoice, kVoiceDesign, kBase };

// Tokens of the text and codes of the talker that have a role.
struct TtsIds {
  int32_t text_bos = 0, text_eos = 0, text_pad = 0;
  int32_t bos = 0, eos = 0, pad = 0, think = 0, nothink = 0, think_bos = 0, think_eos = 0;
};

// The encoder of speakers: ECAPA-TDNN.
struct SpeakerEncoderConfig {
  int64_t bins = 128, width = 0, squeezed = 0, attention = 0, groups = 8, output = 0;
  int64_t mixed = 0;  // channels of what the blocks give together
  std::vector<int64_t> kernels, dilations;
  int sample_rate = 24000;
};

struct TtsConfig {
  TtsKind kind = TtsKind::kCustomVoice;
  bool is_small = false;  // takes no instructions beside a speaker
  DecoderConfig talker, predictor;
  int64_t text_vocabulary = 0, text_width = 0;
  int64_t codes = 0;          // the talker's vocabulary
  int64_t code_groups = 0;    // of a frame
  int64_t group_entries = 0;  // codes of each behind the first
  TtsIds ids;
  std::map<std::string, int32_t> languages, speakers;
  std::map<std::string, std::string> dialects;  // of speakers who have one
  std::optional<SpeakerEncoderConfig> speaker;
};

bool is_qwen3_tts(const Json& config);
// Throws Error(kBadFile) naming the setting at fault, Error(kUnsupported) for tokenizers of other rates.
TtsConfig read_tts_config(const Json& config);

}  // namespace wick
