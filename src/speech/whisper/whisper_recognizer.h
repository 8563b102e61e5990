#pragma once

#include <atomic>
#include <mutex>
#include <thread>

#include "base/mapped_file.h"
#include "engine/engine.h"
#include "speech/recognizer.h"
#include "speech/whisper/whisper.h"
#include "speech/whisper/whisper_rules.h"
#include "tokenizer/tokenizer.h"

namespace wick {

// Whisper, over recordings of any length: windows of 30 seconds, each of which begins where the last one's text ended
// and is conditioned on that text. What comes out repeating itself or unlikely is decoded again at a higher
// temperature.
class WhisperRecognizer final : public SpeechRecognizer {
 public:
  // A Hugging Face folder or a ggml-*.bin of whisper.cpp. Throws Error(kBadFile) naming what is at fault,
  // Error(kUnsupported) for other models.
  static std::shared_ptr<const SpeechRecognizer> load(const std::filesystem::path& path,
                                                      const ModelOptions& options = {});
  // The same from parts; `generation`: generation_config.json or null; `files`: where the weights are mapped, if they
  // are used as they lie there.
  WhisperRecognizer(std::string label, std::unique_ptr<const Whisper> model, Tokenizer tokenizer,
                    const Json& generation, std::vector<std::shared_ptr<const MappedFile>> files = {});
  ~WhisperRecognizer() override;

  const RecognizerFacts& facts() const override { return facts_; }
  using SpeechRecognizer::recognize;
  Recognition recognize(AudioReader& sound, const RecognizeOptions& options, RecognizeCallback callback) const override;
  double longest_piece(const RecognizeOptions& options) const override;

 private:
  class Run;
  // Moves the weights into large pages in the background, once: a long recording is worth it.
  void use_large_pages() const;
  // Returns when a task is over. Passes are run by the threads that wait for them, those of all recordings together.
  void run(const std::shared_ptr<Task>& task) const;

  std::unique_ptr<const Whisper> model_;
  Tokenizer tokenizer_;
  WhisperRules rules_;
  std::vector<CrossDecoder::Head> alignment_heads_;
  std::unique_ptr<Engine> engine_;
  RecognizerFacts facts_;
  std::vector<std::shared_ptr<const MappedFile>> files_;
  mutable std::once_flag large_pages_once_;
  mutable std::atomic<bool> is_ending_ = false;
  mutable std::thread large_pages_;
};

}  // namespace wick
