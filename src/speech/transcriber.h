#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "speech/recognizer.h"

namespace wick {

// Speech to text for programs: a model that is loaded when it is needed and can be let go.
//
//   Transcriber transcriber;                       // Ember-ASR; or Transcriber("Qwen3-ASR-0.6B")
//   std::cout << transcriber.transcribe(samples).text;
//
// Thread-safe.
class Transcriber {
 public:
  // An empty path is Ember-ASR. Nothing is loaded yet.
  explicit Transcriber(std::filesystem::path model = {}, RecognizerOptions options = {});

  // Loads the model, unless it is there. Throws as load_recognizer() does.
  std::shared_ptr<const SpeechRecognizer> prepare();
  // Mono at 16 kHz; prepares if need be.
  Recognition transcribe(std::span<const float> samples, const RecognizeOptions& options = {});
  Recognition transcribe_with_progress(std::span<const float> samples, const RecognizeOptions& options,
                                       RecognizeCallback callback);
  // Lets the model go as soon as nobody uses it.
  void unload();

  bool is_prepared() const;
  std::string model_label() const;  // "Ember-ASR", or the name of the folder or file

 private:
  std::filesystem::path model_;
  RecognizerOptions options_;
  mutable std::mutex mutex_;
  std::shared_ptr<const SpeechRecognizer> recognizer_;
};

}  // namespace wick
