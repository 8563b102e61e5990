#include "speech/speech_stream.h"

#include <algorithm>

namespace wick {
namespace {

constexpr double kRate = 16000;
constexpr int64_t kBetweenPartials = 6400;       // samples: 0.4 s
constexpr int64_t kBetweenFirstPartials = 1600;  // while nothing was understood yet
constexpr size_t kSlice = 1600;                  // pieces are looked for that often

double to_seconds(int64_t samples) { return static_cast<double>(samples) / kRate; }

}  // namespace

SpeechStream::SpeechStream(std::shared_ptr<const SpeechRecognizer> recognizer, const RecognizeOptions& options,
                           const PauseOptions& pauses, std::unique_ptr<VoiceScorer> scorer)
    : recognizer_(std::move(recognizer)),
      cutter_({recognizer_->longest_piece(options), options.skips_silence, pauses}, std::move(scorer)),
      utterance_(recognizer_->listen(options)) {}

double SpeechStream::seconds() const { return to_seconds(cutter_.samples()); }

void SpeechStream::push(std::span<const float> samples, StreamCallback callback) {
  while (!samples.empty()) {
    const auto slice = samples.first(std::min(kSlice, samples.size()));
    samples = samples.subspan(slice.size());
    for (const SoundPiece& piece : cutter_.push(slice)) end_piece(piece, callback);
    follow(callback);
  }
  const int64_t wait = shown_ == 0 ? 1 : understood_ ? kBetweenPartials : kBetweenFirstPartials;
  if (begun_ && heard_ - shown_ >= wait) {
    shown_ = heard_;
    const std::string text = utterance_->partial();
    understood_ = !text.empty();
    callback({StreamEvent::Kind::kPartial, to_seconds(*begun_), text});
  }
}

// Gives the utterance what is new of the open piece.
void SpeechStream::follow(StreamCallback callback) {
  const auto since = cutter_.open_since();
  if (!since) return;
  if (begun_ != since) {
    utterance_->restart();
    begun_ = since;
    heard_ = shown_ = 0;
    understood_ = false;
    callback({StreamEvent::Kind::kSpeech, to_seconds(*since)});
  }
  const auto samples = cutter_.open_samples();
  utterance_->push(samples.subspan(static_cast<size_t>(heard_)));
  heard_ = std::ssize(samples);
}

void SpeechStream::end_piece(const SoundPiece& piece, StreamCallback callback) {
  utterance_->restart();  // the piece may end earlier than what was heard
  utterance_->push(piece.samples);
  std::string language;
  RecognizedSegment segment = utterance_->finish(&language);
  const double begin = to_seconds(piece.begin);
  shift(segment, begin);
  StreamEvent event{StreamEvent::Kind::kSegment, begin, segment.text, &segment};
  event.language = language;
  callback(event);
  begun_.reset();
}

void SpeechStream::finish(StreamCallback callback) {
  for (const SoundPiece& piece : cutter_.finish()) end_piece(piece, callback);
}

}  // namespace wick
