#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "media/audio_reader.h"
#include "models/model_options.h"
#include "speech/recognition.h"

namespace wick {

struct RecognizerFacts {
  std::string label;   // "Ember-ASR", the folder's or the file's name
  std::string family;  // "qwen3_asr", "whisper", "wav2vec2"
  int64_t parameters = 0, weight_bytes = 0;
  bool translates = false;
  bool tells_words = false;            // TimeDetail::kWords is possible
  std::vector<std::string> languages;  // codes; empty: the model was made for one and does not say which
};

// What can be shown while a recording is transcribed.
struct RecognizeEvent {
  double done = 0;        // seconds of sound that are finished
  std::string_view text;  // what was generated since the last event: all of them make the whole text
  const RecognizedSegment* segment = nullptr;  // one that is finished
};
// Answers false to stop: the recognition then holds what was finished.
using RecognizeCallback = FunctionRef<bool(const RecognizeEvent&)>;

// Speech that is still going on: one piece of sound, as a PieceCutter cuts it. One thread at a time.
class Utterance {
 public:
  virtual ~Utterance() = default;
  virtual void push(std::span<const float> samples) = 0;
  // What was said so far, for showing: the last words may still change.
  virtual std::string partial() = 0;
  // Forgets the sound, to be given it again: what was computed for sound that is the same need not be again.
  virtual void restart() = 0;
  // The text for good, with times from the beginning of the piece; the language stands in `language` if it is not null.
  virtual RecognizedSegment finish(std::string* language = nullptr) = 0;
};

// A model that transcribes speech. Any number of threads may use one at once; each recording gets the text that it gets
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
  // The recognizer must live longer. Throws Error(kInvalidArgument) as recognize() does.
  virtual std::unique_ptr<Utterance> listen(const RecognizeOptions& options) const;
  // How long a piece of sound may be at most, in seconds.
  virtual double longest_piece(const RecognizeOptions& options) const = 0;
};

struct RecognizerOptions : ModelOptions {
  std::filesystem::path aligner;  // a forced aligner, for Qwen3-ASR's times of words; empty: none
};

// The model in a folder or file: Qwen3-ASR, Whisper or wav2vec2. An empty path is Ember-ASR, the one inside this
// program. Throws Error naming the file and the field at fault, Error(kUnsupported) for models that do not listen.
std::shared_ptr<const SpeechRecognizer> load_recognizer(const std::filesystem::path& path,
                                                        const RecognizerOptions& options = {});

}  // namespace wick
