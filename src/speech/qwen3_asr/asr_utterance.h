#pragma once

#include <memory>
#include <vector>

#include "media/log_mel.h"
#include "speech/pending_text.h"
#include "speech/qwen3_asr/asr_prompt.h"
#include "speech/qwen3_asr/forced_aligner.h"
#include "speech/qwen3_asr/qwen3_asr.h"
#include "speech/recognizer.h"
#include "speech/transcript.h"

namespace wick {

// What writes down speech: the model and the engine that its decoder runs in. All must live longer than what they are
// given to.
struct AsrParts {
  const Qwen3Asr& model;
  const TextModel& text;
  TextEngine& engine;
  const ForcedAligner* aligner = nullptr;  // for the times of words
};

// One piece of sound on its way to text. Windows of the encoder that are full are encoded once, and what the decoder
// makes of them is found again by the engine.
class AsrUtterance final : public Utterance {
 public:
  AsrUtterance(const AsrParts& parts, const RecognizeOptions& options);

  void push(std::span<const float> samples) override;
  std::string partial() override;
  void restart() override;
  RecognizedSegment finish(std::string* language = nullptr) override;

  // The two halves of finish(): the decoder is at work between them. Sound must not be pushed any more.
  void start();
  // What was generated so far; waits for more than `seen` bytes.
  Transcript wait_for_more(size_t& seen) const;
  bool is_over() const { return request_->is_over(); }
  RecognizedSegment end(std::string* language, Recognition& totals);

  double seconds() const { return static_cast<double>(mel_.samples()) / kMelSampleRate; }

 private:
  struct Window {
    Tensor mel, rows;
  };
  Tensor encode();  // what the encoder makes of all the sound
  std::unique_ptr<PendingText> submit(std::span<const int32_t> begun);

  AsrParts parts_;
  RecognizeOptions options_;
  const Language* language_;  // null: the model finds out
  LogMel mel_;
  std::vector<Window> windows_;
  std::vector<int32_t> partial_;  // tokens of the last partial text
  int64_t partials_ = 0;
  std::unique_ptr<PendingText> request_;
  RecognizeSeconds took_;
};

}  // namespace wick
