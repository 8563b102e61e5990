#pragma once

#include <optional>
#include <string>
#include <vector>

#include "server/api/fields.h"
#include "server/http/exchange.h"
#include "speech/recognition.h"

namespace wick {

// POST /v1/audio/transcriptions and /v1/audio/translations: a form.
struct TranscriptionRequest {
  std::string model, language, prompt, response_format = "json";
  float temperature = 0;
  bool stream = false;
  std::vector<std::string> timestamp_granularities;
  int64_t seed = 0;

  std::string file_name;
  std::string_view file;  // lies in the body

  static const Fields<TranscriptionRequest>& fields();
  // Throws RequestError naming the field at fault. The body must live longer.
  static TranscriptionRequest parse(const HttpRequest& request, std::string_view body);

  bool wants_words() const;
  RecognizeOptions options(SpeechTask task) const;
};

}  // namespace wick
