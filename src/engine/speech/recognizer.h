#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "base/function_ref.h"
#include "engine/speech/recognition.h"
#include "media/audio_reader.h"
#include "models/model_options.h"

namespace wick {

struct RecognizerFacts {
  std::string label;   // "Ember-ASR", the folder's or the file's name
  std::string family;  // "qwen3_asr", "whisper", "wav2vec2"
  int64_t parameters = 0, weight_bytes = 0;
  bool translates = false;
  bool tells_words = false;            // TimeDetail::kWords is possible
  std::vector<std::string> languages;  // codes; empty: the model was made for one and does not say which
};

// What can be shown while a recording is written down.
struct RecognizeEvent {
  double done = 0;                             // seconds of sound that are finished
  std::string_view text;                       // what was written since the last event: all of them make the whole text
  const RecognizedSegment* segment = nullptr;  // one that is finished
};
// Answers false to stop: the recognition then holds what was finished.
using RecognizeCallback = FunctionRef<bool(const RecognizeEvent&)>;

// A model that writes down speech. Any number of threads may use one at once; each recording gets the text that it gets
// alone.
class SpeechRecognizer {
 public:
  virtual ~SpeechRecognizer() = default;
  virtual const RecognizerFacts& facts() const = 0;

  // Reads the sound (mono, 16 kHz) to its end; recordings of any length take bounded memory. Sound without speech gives
  // no text. Throws Error(kInvalidArgument) for options that the model does not have, with those it has, and whatever
  // reading the sound throws.
  virtual Recognition recognize(AudioReader& sound, const RecognizeOptions& options,
                                RecognizeCallback callback) const = 0;
  Recognition recognize(AudioReader& sound, const RecognizeOptions& options = {}) const {
    return recognize(sound, options, [](const RecognizeEvent&) { return true; });
  }
};

}  // namespace wick
