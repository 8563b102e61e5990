#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/function_ref.h"
#include "media/piece_cutter.h"
#include "speech/recognizer.h"

namespace wick {

struct StreamEvent {
  enum class Kind : uint8_t {
    kSpeech,   // somebody began to speak
    kPartial,  // the text of the piece so far; its last words may still change
    kSegment,  // the text of a piece for good; empty when it was no speech after all
  };
  Kind kind;
  double begin = 0;                            // of the piece, in seconds from the beginning of the stream
  std::string_view text;                       // kPartial and kSegment
  const RecognizedSegment* segment = nullptr;  // kSegment
  std::string_view language;                   // kSegment
};
using StreamCallback = FunctionRef<void(const StreamEvent&)>;

// Transcribes sound while it comes. Pieces are cut as those of a file are and each is transcribed as it would be
// there, so models that take a piece at a time (Qwen3-ASR) end with the text of the whole file. One thread at a time.
class SpeechStream {
 public:
  // `scorer` says where somebody speaks; null: EnergyScorer. Files are cut with the pauses that stand here by default.
  SpeechStream(std::shared_ptr<const SpeechRecognizer> recognizer, const RecognizeOptions& options,
               const PauseOptions& pauses = {}, std::unique_ptr<VoiceScorer> scorer = nullptr);

  // Sound of any length, mono at 16 kHz. Gives a partial text once, at its end, if enough new sound has come since the
  // last time: who falls behind pushes more at a time and gets fewer.
  void push(std::span<const float> samples, StreamCallback callback);
  // The sound is over.
  void finish(StreamCallback callback);

  bool is_speaking() const { return cutter_.open_since().has_value(); }
  double seconds() const;  // pushed

 private:
  void follow(StreamCallback callback);
  void end_piece(const SoundPiece& piece, StreamCallback callback);

  std::shared_ptr<const SpeechRecognizer> recognizer_;
  PieceCutter cutter_;
  std::unique_ptr<Utterance> utterance_;  // of the open piece
  std::optional<int64_t> begun_;          // where that began
  int64_t heard_ = 0, shown_ = 0;         // samples of it that the utterance has, and had at the last partial text
  bool understood_ = false;               // the last partial text was not empty
};

}  // namespace wick
