#include "speech/recognizer.h"

#include "base/error.h"
#include "base/text.h"
#include "formats/checkpoint.h"
#include "speech/ctc/ctc_recognizer.h"
#include "speech/qwen3_asr/qwen3_asr_recognizer.h"
#include "speech/whisper/whisper_recognizer.h"

namespace wick {
namespace {

// For models that hear a piece as a whole: each partial text takes all of it again.
class WholeUtterance final : public Utterance {
 public:
  WholeUtterance(const SpeechRecognizer& recognizer, const RecognizeOptions& options)
      : recognizer_(recognizer), options_(options) {
    options_.skips_silence = false;  // what comes here has been found to be speech
  }

  void push(std::span<const float> samples) override {
    samples_.insert(samples_.end(), samples.begin(), samples.end());
  }
  std::string partial() override { return recognize().text; }
  void restart() override { samples_.clear(); }
  RecognizedSegment finish(std::string* language) override {
    const Recognition heard = recognize();
    if (language) *language = heard.language;
    RecognizedSegment segment;
    segment.end = heard.seconds;
    segment.text = heard.text;
    for (const RecognizedSegment& part : heard.segments) {
      segment.words.insert(segment.words.end(), part.words.begin(), part.words.end());
      segment.tokens.insert(segment.tokens.end(), part.tokens.begin(), part.tokens.end());
    }
    return segment;
  }

 private:
  Recognition recognize() const {
    if (samples_.empty()) return {};
    const auto reader = read_samples(samples_);
    return recognizer_.recognize(*reader, options_);
  }

  const SpeechRecognizer& recognizer_;
  RecognizeOptions options_;
  std::vector<float> samples_;
};

}  // namespace

std::unique_ptr<Utterance> SpeechRecognizer::listen(const RecognizeOptions& options) const {
  return std::make_unique<WholeUtterance>(*this, options);
}

std::shared_ptr<const SpeechRecognizer> load_recognizer(const std::filesystem::path& path,
                                                        const RecognizerOptions& options) {
  if (path.empty()) return std::make_shared<Qwen3AsrRecognizer>(path, options);
  const Checkpoint checkpoint = Checkpoint::open(path);
  const Json& config = checkpoint.config();
  if (is_qwen3_asr(config)) return std::make_shared<Qwen3AsrRecognizer>(path, options);
  if (is_whisper(config)) return WhisperRecognizer::load(path, options);
  if (is_wav2vec2(config)) return CtcRecognizer::load(path, options);
  const Json* type = config.is_object() ? config.find("model_type") : nullptr;
  throw Error(ErrorCode::kUnsupported,
              cat(path, ": ", type && type->is_text() ? cat("a model of the type ", type->as_text()) : "a file",
                  " that does not write down speech; Qwen3-ASR, Whisper and wav2vec2 models do"));
}

}  // namespace wick
