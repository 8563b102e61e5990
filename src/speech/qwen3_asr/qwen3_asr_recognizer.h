#pragma once

#include <memory>

#include "engine/text/text_engine.h"
#include "engine/text/text_model.h"
#include "speech/qwen3_asr/asr_prompt.h"
#include "speech/qwen3_asr/asr_utterance.h"
#include "speech/qwen3_asr/forced_aligner.h"
#include "speech/qwen3_asr/qwen3_asr.h"
#include "speech/recognizer.h"

namespace wick {

// Qwen3-ASR: pieces of all recordings are transcribed together, in the batches of one engine.
class Qwen3AsrRecognizer final : public SpeechRecognizer {
 public:
  // A Hugging Face folder or file. An empty path is Ember-ASR.
  explicit Qwen3AsrRecognizer(const std::filesystem::path& path, const RecognizerOptions& options = {});

  const RecognizerFacts& facts() const override { return facts_; }
  using SpeechRecognizer::recognize;
  Recognition recognize(AudioReader& sound, const RecognizeOptions& options, RecognizeCallback callback) const override;
  std::unique_ptr<Utterance> listen(const RecognizeOptions& options) const override;
  double longest_piece(const RecognizeOptions& options) const override;

  // For those who look inside.
  const Qwen3Asr& model() const { return *asr_; }
  TextEngine& engine() const { return *engine_; }

 private:
  void check(const RecognizeOptions& options) const;
  AsrParts parts() const { return {*asr_, *text_, *engine_, aligner_.get()}; }

  std::shared_ptr<const Qwen3Asr> asr_;
  std::shared_ptr<const TextModel> text_;
  std::shared_ptr<const ForcedAligner> aligner_;  // null: there are no times of words
  std::unique_ptr<TextEngine> engine_;
  std::unique_ptr<EngineThread> thread_;
  RecognizerFacts facts_;
  double piece_seconds_;  // that suit the model
};

}  // namespace wick
