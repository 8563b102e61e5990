#include "speech/transcriber.h"

#include "engine/ember.h"
#include "formats/model_label.h"

namespace wick {

Transcriber::Transcriber(std::filesystem::path model, RecognizerOptions options)
    : model_(std::move(model)), options_(std::move(options)) {}

std::shared_ptr<const SpeechRecognizer> Transcriber::prepare() {
  const std::lock_guard lock(mutex_);
  if (!recognizer_) recognizer_ = load_recognizer(model_, options_);
  return recognizer_;
}

Recognition Transcriber::transcribe(std::span<const float> samples, const RecognizeOptions& options) {
  return transcribe_with_progress(samples, options, [](const RecognizeEvent&) { return true; });
}

Recognition Transcriber::transcribe_with_progress(std::span<const float> samples, const RecognizeOptions& options,
                                                  RecognizeCallback callback) {
  return prepare()->recognize(*read_samples(samples), options, callback);
}

void Transcriber::unload() {
  const std::lock_guard lock(mutex_);
  recognizer_.reset();
}

bool Transcriber::is_prepared() const {
  const std::lock_guard lock(mutex_);
  return recognizer_ != nullptr;
}

std::string Transcriber::model_label() const {
  const std::lock_guard lock(mutex_);
  if (recognizer_) return recognizer_->facts().label;
  if (model_.empty()) return std::string(ember_asr_files().name);
  return wick::model_label(model_);
}

}  // namespace wick
