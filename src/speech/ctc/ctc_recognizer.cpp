#include "speech/ctc/ctc_recognizer.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "formats/model_label.h"
#include "media/energy_scorer.h"
#include "ops/softmax.h"
#include "speech/ctc/ctc_decode.h"

namespace wick {
namespace fs = std::filesystem;
namespace {

constexpr int kSampleRate = 16000;
constexpr double kWindow = 16, kLeastWindow = 6, kMostWindow = 120, kContext = 2;  // seconds
constexpr double kSilence = 0.6, kMostSegment = 30;                                // seconds

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

void check_options(const RecognizeOptions& options) {
  const auto refuse = [](const char* what) {
    throw Error(ErrorCode::kInvalidArgument,
                cat("wav2vec2 ", what, "; of the options it has the number of beams and the times of words"));
  };
  if (!options.language.empty()) refuse("writes the language it was trained on and takes no other");
  if (!options.context.empty()) refuse("takes no context");
  if (options.task != SpeechTask::kTranscribe) refuse("does not translate");
  if (options.temperature != 0) refuse("draws nothing and has no temperature");
  if (options.beams < 1) throw Error(ErrorCode::kInvalidArgument, cat(options.beams, " beams are asked for"));
}

// To mean 0 and variance 1, as the model was trained.
void normalize(std::span<float> samples) {
  double sum = 0, squares = 0;
  for (const float x : samples) sum += x;
  const double mean = sum / static_cast<double>(samples.size());
  for (const float x : samples) squares += (x - mean) * (x - mean);
  const double scale = 1 / std::sqrt(squares / static_cast<double>(samples.size()) + 1e-7);
  for (float& x : samples) x = static_cast<float>((x - mean) * scale);
}

bool has_voice(std::span<const float> samples) {
  return !find_speech(samples, std::make_unique<EnergyScorer>(), SegmentOptions::for_energy()).empty();
}

}  // namespace

CtcRecognizer::CtcRecognizer(std::unique_ptr<Wav2Vec2> model, CtcVocabulary vocabulary, RecognizerFacts facts)
    : model_(std::move(model)), vocabulary_(std::move(vocabulary)), facts_(std::move(facts)) {}

std::unique_ptr<CtcRecognizer> CtcRecognizer::load(const fs::path& path, const ModelOptions& options) {
  const WeightSource source(Checkpoint::open(path));
  auto model = Wav2Vec2::load(source, options);
  CtcVocabulary vocabulary =
      CtcVocabulary::load(source.checkpoint().folder(), model->config().vocabulary, model->config().blank);
  RecognizerFacts facts;
  facts.label = model_label(path);
  facts.family = model->config().conformer ? "wav2vec2-conformer" : "wav2vec2";
  facts.parameters = model->parameters();
  facts.weight_bytes = model->weight_bytes();
  facts.tells_words = true;
  return std::unique_ptr<CtcRecognizer>(new CtcRecognizer(std::move(model), std::move(vocabulary), std::move(facts)));
}

double CtcRecognizer::longest_piece(const RecognizeOptions& options) const {
  return options.piece_seconds > 0 ? std::clamp(options.piece_seconds, kLeastWindow, kMostWindow) : kWindow;
}

// The text of a segment. Times count from the beginning of the sound.
RecognizedSegment CtcRecognizer::read(const CtcSegments::Segment& segment, const RecognizeOptions& options) const {
  const Wav2Vec2Config& config = model_->config();
  const CtcFrames frames{segment.logprobs, config.vocabulary, config.blank};
  const CtcText text = options.beams > 1 ? ctc_beam(frames, options.beams) : ctc_greedy(frames);
  const auto time = [&](int64_t frame) {
    return static_cast<double>((segment.first + frame) * config.samples_per_frame()) / kSampleRate;
  };
  RecognizedSegment out;
  double sum = 0, word_sum = 0;
  int64_t word_tokens = 0;
  bool in_word = false;
  std::vector<RecognizedWord> words;
  for (const CtcToken& token : text.tokens) {
    out.tokens.push_back(token.id);
    sum += token.logprob;
    const std::string& piece = vocabulary_.pieces[static_cast<size_t>(token.id)];
    if (token.id == vocabulary_.delimiter || piece == " ") {
      in_word = false;
      continue;
    }
    if (piece.empty()) continue;
    if (!in_word) {
      words.push_back({.begin = time(token.begin)});
      word_sum = 0;
      word_tokens = 0;
      in_word = true;
    }
    RecognizedWord& word = words.back();
    word.text += piece;
    word.end = time(token.end);
    word_sum += token.logprob;
    word.probability = static_cast<float>(std::exp(word_sum / static_cast<double>(++word_tokens)));
  }
  for (const RecognizedWord& word : words) out.text += cat(out.text.empty() ? "" : " ", word.text);
  if (words.empty()) return out;
  out.begin = words.front().begin;
  out.end = words.back().end;
  out.mean_logprob = static_cast<float>(sum / static_cast<double>(text.tokens.size()));
  if (options.times == TimeDetail::kWords) out.words = std::move(words);
  return out;
}

// One recording on its way through.
struct CtcRecognizer::Run {
  const CtcRecognizer& on;
  const RecognizeOptions& options;
  RecognizeCallback callback;
  CtcSegments segments;
  Recognition result{};
  bool goes_on = true;

  // A segment that is finished, if there is one with text in it.
  void take(const std::optional<CtcSegments::Segment>& segment, double done) {
    if (!segment || !goes_on) return;
    const auto start = Clock::now();
    RecognizedSegment read = on.read(*segment, options);
    result.took.decoder += seconds_since(start);
    if (read.text.empty()) return;
    result.tokens += std::ssize(read.tokens);
    const std::string text = cat(result.text.empty() ? "" : " ", read.text);
    result.text += text;
    result.segments.push_back(std::move(read));
    goes_on = callback({done, text, &result.segments.back()});
  }

  // Frames [first, end) of a window.
  void hear(std::vector<float> window, int64_t first, int64_t end, double done) {
    if (first >= end) return;
    if (options.skips_silence && !has_voice(window)) {
      take(segments.skip(end - first), done);
      return;
    }
    const auto start = Clock::now();
    if (on.vocabulary_.normalizes) normalize(window);
    const Tensor logits = on.model_->logits(window);
    const Tensor logprobs = log_softmax(logits.to_device(Device::cpu()), 1).contiguous();
    result.took.encoder += seconds_since(start);
    const int64_t vocabulary = on.model_->config().vocabulary;
    for (int64_t frame = first; frame < end && goes_on; ++frame) {
      const float* row = logprobs.data<float>() + frame * vocabulary;
      take(segments.push({row, static_cast<size_t>(vocabulary)}), done);
    }
  }
};

Recognition CtcRecognizer::recognize(AudioReader& sound, const RecognizeOptions& options,
                                     RecognizeCallback callback) const {
  check_options(options);
  const Wav2Vec2Config& config = model_->config();
  const int64_t step = config.samples_per_frame();
  const auto frames_in = [&](double seconds) {
    return std::max<int64_t>(1, std::llround(seconds * kSampleRate / static_cast<double>(step)));
  };
  const int64_t window_frames = frames_in(longest_piece(options)), context = frames_in(kContext);
  const int64_t window = config.samples_of(window_frames), advance = (window_frames - 2 * context) * step;
  Run run{*this, options, callback,
          CtcSegments(config.vocabulary, config.blank, vocabulary_.delimiter,
                      {frames_in(kSilence), frames_in(kMostSegment)})};
  std::vector<float> samples;
  int64_t held = 0, heard = 0;  // samples of the window so far; of the whole sound
  samples.reserve(static_cast<size_t>(window));
  for (bool is_first = true, is_last = false; !is_last && run.goes_on; is_first = false) {
    samples.resize(static_cast<size_t>(window));
    const int64_t got = sound.read(std::span(samples).subspan(static_cast<size_t>(held)));
    heard += got;
    is_last = held + got < window;
    if (is_last) samples.resize(static_cast<size_t>(held + got));
    // A sound too short for a frame is filled up with silence.
    if (is_first && heard > 0 && std::ssize(samples) < config.samples_of(1)) {
      samples.resize(static_cast<size_t>(config.samples_of(1)));
    }
    const int64_t frames = config.frames_of(std::ssize(samples));
    const double done = static_cast<double>(heard) / kSampleRate;
    run.hear(samples, is_first ? 0 : context, is_last ? frames : frames - context, done);
    if (is_last) break;
    samples.erase(samples.begin(), samples.begin() + advance);
    held = std::ssize(samples);
  }
  run.result.seconds = static_cast<double>(heard) / kSampleRate;
  if (run.goes_on) run.take(run.segments.finish(), run.result.seconds);
  return std::move(run.result);
}

}  // namespace wick
