#pragma once

#include <chrono>

#include "speech/whisper/whisper_recognizer.h"
#include "speech/whisper/whisper_segments.h"
#include "speech/whisper/whisper_window.h"

namespace wick {

// One recording, from beginning to end.
class WhisperRecognizer::Run {
 public:
  // Throws Error(kInvalidArgument) for options that the model does not have.
  Run(const WhisperRecognizer& on, AudioReader& sound, const RecognizeOptions& options, RecognizeCallback callback);
  Recognition run();

 private:
  struct TimedWord {
    RecognizedWord word;  // within the window
    size_t token;         // of the text, its first
  };

  const Language* checked_language() const;

  // Reads until the window is full or the sound is over; false when nothing is left.
  bool fill();
  void advance(int64_t samples);
  bool somebody_speaks() const;
  void pass_over_silence();
  void hear_window();
  void listen();

  size_t most_previous_tokens() const;  // tokens of what was said before
  std::vector<int32_t> start_tokens() const;
  WhisperPrompt make_prompt() const;  // what was said before, then what to do
  WhisperDecision write();

  void take_text(const WhisperDecision& made);
  // The words of a text, by where its tokens look when the model reads it without times.
  std::vector<TimedWord> words_of(const WhisperText& text) const;
  bool emit(const WhisperDecision& made, const WhisperSegment& part, const std::string& text,
            std::span<const TimedWord> words);

  // Does a piece of work and adds the time it took.
  template <typename Body>
  static auto timed(double& seconds, const Body& body) {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point start = Clock::now();
    auto result = body();
    seconds += std::chrono::duration<double>(Clock::now() - start).count();
    return result;
  }

  const WhisperRecognizer& on_;
  const WhisperTokens& tokens_;
  AudioReader& sound_;
  const RecognizeOptions& options_;
  RecognizeCallback callback_;
  const Language* language_;  // null: not known yet
  int64_t window_samples_;
  RecurrentState encoded_;  // in the window

  std::vector<float> window_;  // of sound, from sample begin_ on
  int64_t begin_ = 0;
  bool over_ = false, wanted_ = true;
  std::vector<int32_t> previous_;  // tokens of the windows before
  uint64_t windows_ = 0;           // that the model heard
  Recognition result_;
};

}  // namespace wick
