#include "speech/qwen3_asr/qwen3_asr_recognizer.h"

#include <algorithm>
#include <array>
#include <deque>

#include "base/error.h"
#include "base/machine.h"
#include "base/text.h"
#include "base/utf8.h"
#include "media/piece_cutter.h"
#include "speech/joined_text.h"

namespace wick {
namespace {

constexpr double kPieceSeconds = 30;
constexpr double kEmberPieceSeconds = 7;         // it has heard nothing longer
constexpr double kMostPieceSeconds = 1200;       // Qwen3-ASR's own limit
constexpr double kPositionsPerSecond = 13 + 16;  // of sound, and of text at most
constexpr int64_t kPromptTokens = 512;           // around them
constexpr int64_t kMostKvBytes = int64_t{2} << 30;
// Pieces of one recording that are transcribed at the same time.
constexpr size_t kTogether = 8;
constexpr double kSecondsTogether = 300;

// The pieces of one recording, several at once, emitted in their order.
class Pieces {
 public:
  Pieces(const AsrParts& parts, const RecognizeOptions& options, RecognizeCallback callback)
      : parts_(parts), options_(options), callback_(callback) {}

  void add(const SoundPiece& piece) {
    const double seconds = static_cast<double>(piece.samples.size()) / kMelSampleRate;
    while (!pending_.empty() && is_going_on_ &&
           (pending_.size() >= kTogether || pending_seconds_ + seconds > kSecondsTogether)) {
      settle_first();
    }
    if (!is_going_on_) return;
    auto utterance = std::make_unique<AsrUtterance>(parts_, options_);
    utterance->push(piece.samples);
    utterance->start();
    pending_.push_back({static_cast<double>(piece.begin) / kMelSampleRate, std::move(utterance)});
    pending_seconds_ += seconds;
    while (is_going_on_ && !pending_.empty() && pending_.front().utterance->is_over()) settle_first();
  }
  void finish() {
    while (is_going_on_ && !pending_.empty()) settle_first();
  }

  bool is_going_on() const { return is_going_on_; }
  Recognition& recognition() { return recognition_; }

 private:
  struct Pending {
    double begin;
    std::unique_ptr<AsrUtterance> utterance;
  };

  void settle_first() {
    Pending& first = pending_.front();
    JoinedText joined(recognition_.text, options_.language.empty() ? recognition_.language : options_.language);
    for (size_t seen = 0; !first.utterance->is_over();) {
      const std::string more = joined.show(first.utterance->wait_for_more(seen).text);
      if (!more.empty() && !emit({first.begin, more})) return;
    }
    std::string language;
    RecognizedSegment segment = first.utterance->end(&language, recognition_);
    if (recognition_.language.empty()) recognition_.language = language;
    shift(segment, first.begin);
    pending_seconds_ -= first.utterance->seconds();
    pending_.pop_front();
    if (segment.text.empty()) {
      emit({segment.end});
      return;
    }
    const std::string more = joined.finish(segment.text);
    recognition_.segments.push_back(std::move(segment));
    RecognizeEvent event{recognition_.segments.back().end, more};
    event.segment = &recognition_.segments.back();
    emit(event);
  }
  bool emit(const RecognizeEvent& event) {
    is_going_on_ = callback_(event);
    return is_going_on_;
  }

  AsrParts parts_;
  const RecognizeOptions& options_;
  RecognizeCallback callback_;
  Recognition recognition_;
  std::deque<Pending> pending_;
  double pending_seconds_ = 0;
  bool is_going_on_ = true;
};

}  // namespace

Qwen3AsrRecognizer::Qwen3AsrRecognizer(const std::filesystem::path& path, const RecognizerOptions& options) {
  const bool is_ember = path.empty();
  const TextModel::ModelLoader loader = [this](const WeightSource& source, const ModelOptions& load) {
    asr_ = Qwen3Asr::load(source, load);
    return std::shared_ptr<const LanguageModel>(asr_, &asr_->decoder());
  };
  LoadOptions load;
  static_cast<ModelOptions&>(load) = options;
  text_ = is_ember ? TextModel::built_in(ember_asr_files(), load, loader) : TextModel::load(path, load, loader);
  if (asr_->times()) {
    throw Error(ErrorCode::kUnsupported,
                cat(path, ": this is a forced aligner, which gives the times of words and no text"));
  }
  if (!options.aligner.empty()) aligner_ = ForcedAligner::load(options.aligner);
  EngineOptions engine;
  // Keys and values of earlier sound are kept while there is room: that is worth little here.
  const int64_t free_bytes = machine_info().memory_available.value_or(kMostKvBytes * 2);
  engine.kv_bytes = std::min(kMostKvBytes, free_bytes / 2);
  engine.max_waiting = 1 << 20;  // those who ask wait for an answer before they ask for much more
  engine_ = std::make_unique<TextEngine>(text_, engine);
  thread_ = std::make_unique<EngineThread>(*engine_);

  facts_.label = text_->name();
  facts_.family = "qwen3_asr";
  facts_.parameters = asr_->parameters();
  facts_.weight_bytes = asr_->weight_bytes();
  facts_.tells_words = aligner_ != nullptr;
  for (const Language* language : qwen3_asr_languages()) {
    if (!is_ember || language->code == "en") facts_.languages.emplace_back(language->code);
  }
  piece_seconds_ = is_ember ? kEmberPieceSeconds : kPieceSeconds;
}

double Qwen3AsrRecognizer::longest_piece(const RecognizeOptions& options) const {
  const auto context_tokens = static_cast<int64_t>(options.context.size());
  const double fits = static_cast<double>(engine_->context() - kPromptTokens - context_tokens) / kPositionsPerSecond;
  const bool aligns = options.times == TimeDetail::kWords;
  const double most = std::min(aligns ? ForcedAligner::kLongest : kMostPieceSeconds, fits);
  if (most < 1) {
    throw Error(ErrorCode::kInvalidArgument,
                cat("a context of ", options.context.size(), " bytes leaves no room for sound in ", facts_.label));
  }
  return std::min(options.piece_seconds > 0 ? options.piece_seconds : piece_seconds_, most);
}

void Qwen3AsrRecognizer::check(const RecognizeOptions& options) const {
  if (options.task == SpeechTask::kTranslate) {
    throw Error(ErrorCode::kInvalidArgument,
                cat(facts_.label, " writes down what is said and does not translate; Whisper models do"));
  }
  if (options.times == TimeDetail::kWords && !aligner_) {
    throw Error(ErrorCode::kInvalidArgument,
                cat(facts_.label, " needs a forced aligner for the times of words; segments have times without"));
  }
  if (options.beams > 1) {
    throw Error(ErrorCode::kInvalidArgument, cat(facts_.label, " follows one way, not ", options.beams));
  }
  if (!options.language.empty()) {
    const Language* language = find_language(options.language);
    const auto& codes = facts_.languages;
    if (!language || std::find(codes.begin(), codes.end(), language->code) == codes.end()) {
      std::string known;
      for (const std::string& code : codes) known += cat(known.empty() ? "" : ", ", code);
      throw Error(ErrorCode::kInvalidArgument,
                  cat(facts_.label, " does not know the language ", in_quotes(options.language), "; it knows ", known));
    }
  }
}

Recognition Qwen3AsrRecognizer::recognize(AudioReader& sound, const RecognizeOptions& options,
                                          RecognizeCallback callback) const {
  check(options);
  Pieces pieces(parts(), options, callback);
  PieceCutter cutter({longest_piece(options), options.skips_silence});
  std::array<float, kMelSampleRate / 4> portion;
  while (const int64_t got = pieces.is_going_on() ? sound.read(portion) : 0) {
    for (const SoundPiece& piece : cutter.push(std::span(portion).first(static_cast<size_t>(got)))) pieces.add(piece);
  }
  if (pieces.is_going_on()) {
    for (const SoundPiece& piece : cutter.finish()) pieces.add(piece);
  }
  pieces.finish();
  Recognition& recognition = pieces.recognition();
  recognition.seconds = static_cast<double>(cutter.samples()) / kMelSampleRate;
  return std::move(recognition);
}

std::unique_ptr<Utterance> Qwen3AsrRecognizer::listen(const RecognizeOptions& options) const {
  check(options);
  return std::make_unique<AsrUtterance>(parts(), options);
}

}  // namespace wick
