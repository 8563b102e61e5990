#pragma once

#include <optional>
#include <string>
#include <vector>

#include "server/api/fields.h"
#include "speech/voice.h"

namespace wick {

// POST /v1/audio/speech.
struct SpeechRequest {
  std::string model, input, voice, instructions, language;
  std::string response_format = "wav", stream_format = "audio";
  float speed = 1;
  std::optional<float> temperature;
  int64_t seed = 0;

  static const Fields<SpeechRequest>& fields();
  // Throws RequestError naming the field at fault.
  static SpeechRequest parse(const Json& body);

  SpeakOptions options(const VoiceFacts& facts) const;
};

// One event of a stream.
struct SpeechEvent {
  std::string type;                  // speech.audio.delta, speech.audio.done
  std::optional<std::string> audio;  // base64
  std::optional<double> seconds;
  static const Fields<SpeechEvent>& fields();
};

// GET /v1/audio/voices.
struct VoiceAnswer {
  std::string id, model;
  static const Fields<VoiceAnswer>& fields();
};
struct VoiceListAnswer {
  std::string object = "list";
  std::vector<VoiceAnswer> data;
  static const Fields<VoiceListAnswer>& fields();
};

}  // namespace wick
