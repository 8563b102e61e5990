#pragma once

#include <filesystem>
#include <memory>

#include "speech/ctc/ctc_segments.h"
#include "speech/ctc/ctc_vocabulary.h"
#include "speech/ctc/wav2vec2.h"
#include "speech/recognizer.h"

namespace wick {

// wav2vec2 and its conformer: letters straight from the sound, with the times of words. Sound goes through in windows
// of 16 s (or piece_seconds), of which the 2 s on both sides are context without text of their own. Options: beams;
// neither language, context, translation nor temperature.
class CtcRecognizer : public SpeechRecognizer {
 public:
  // A folder with config.json, weights and vocab.json. Throws Error as Wav2Vec2::load and CtcVocabulary::load do.
  static std::unique_ptr<CtcRecognizer> load(const std::filesystem::path& path, const ModelOptions& options = {});

  const RecognizerFacts& facts() const override { return facts_; }
  using SpeechRecognizer::recognize;
  Recognition recognize(AudioReader& sound, const RecognizeOptions& options, RecognizeCallback callback) const override;
  double longest_piece(const RecognizeOptions& options) const override;

 private:
  struct Run;
  CtcRecognizer(std::unique_ptr<Wav2Vec2> model, CtcVocabulary vocabulary, RecognizerFacts facts);
  RecognizedSegment read(const CtcSegments::Segment& segment, const RecognizeOptions& options) const;

  std::unique_ptr<Wav2Vec2> model_;
  CtcVocabulary vocabulary_;
  RecognizerFacts facts_;
};

}  // namespace wick
