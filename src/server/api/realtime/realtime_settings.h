#pragma once

#include <optional>
#include <string>

#include "media/piece_cutter.h"
#include "server/api/fields.h"

namespace wick {

// When a turn of the user is over.
struct TurnDetection {
  std::string type = "server_vad";
  bool create_response = false;    // an answer begins when the user has finished
  bool interrupt_response = true;  // an answer ends when the user begins to speak
  float threshold = 0.5f;
  int silence_duration_ms = 1000, prefix_padding_ms = 400;
  static const Fields<TurnDetection>& fields();
};

// What a session of /v1/realtime is to do. Changed by session.update in OpenAI's present form and in the one before.
struct RealtimeSettings {
  std::string type = "realtime";  // or "transcription"
  std::string model;              // that answers
  std::string instructions;
  std::optional<int64_t> max_output_tokens;
  std::optional<float> temperature;
  bool ignore_eos = false;  // Wick's own
  int sample_rate = 24000;
  std::string speech_model, language, prompt;
  std::optional<TurnDetection> turn_detection = TurnDetection();  // empty: the client commits

  // The session of a session.update, of which everything is optional. Throws RequestError; then nothing has changed.
  void update(const Json& session);
  // What a response.create says for itself.
  void update_response(const Json& response);
  // What ends a turn.
  PauseOptions pauses() const;
  // Whether sound is heard in the same way.
  bool hears_like(const RealtimeSettings& other) const;
  // As session.created and session.updated tell it.
  OrderedJson json(const std::string& id) const;
};

}  // namespace wick
