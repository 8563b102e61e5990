#include "speech/whisper/whisper_run.h"

#include <algorithm>

#include "base/ascii.h"
#include "base/error.h"
#include "base/text.h"
#include "engine/compute_mutex.h"
#include "media/energy_scorer.h"
#include "media/log_mel.h"
#include "media/voice_activity.h"

namespace wick {
namespace {

constexpr int64_t kSamplesPerSecond = kMelSampleRate;
constexpr int64_t kKeptOfSilence = kSamplesPerSecond / 2;  // somebody may have begun to speak
constexpr int64_t kMostBeams = 16;
constexpr int64_t kDraws = 5;
constexpr float kHighestTemperature = 2;

}  // namespace

WhisperRecognizer::Run::Run(const WhisperRecognizer& on, AudioReader& sound, const RecognizeOptions& options,
                            RecognizeCallback callback)
    : on_(on),
      tokens_(on.rules_.tokens()),
      sound_(sound),
      options_(options),
      callback_(callback),
      language_(checked_language()),
      window_samples_(on.model_->config().frames() * kMelHop) {
  const std::string_view context = trimmed(options.context);
  if (context.empty()) return;
  EncodeOptions plain;
  plain.add_special = false;
  plain.special = SpecialTokens::kAsText;
  const std::vector<int> ids = on.tokenizer_.encode(cat(" ", context), plain);
  previous_.assign(ids.begin(), ids.end());
}

Recognition WhisperRecognizer::Run::run() {
  while (wanted_ && fill()) hear_window();
  result_.seconds = static_cast<double>(begin_) / kSamplesPerSecond;
  if (language_ && (!result_.text.empty() || !options_.language.empty())) result_.language = language_->code;
  return std::move(result_);
}

const Language* WhisperRecognizer::Run::checked_language() const {
  const auto bad = [](const std::string& what) { return Error(ErrorCode::kInvalidArgument, what); };
  if (options_.beams < 1 || options_.beams > kMostBeams) {
    throw bad(cat("beams = ", options_.beams, ", expected 1 to ", kMostBeams));
  }
  if (!(options_.temperature >= 0 && options_.temperature <= kHighestTemperature)) {
    throw bad(cat("temperature = ", options_.temperature, ", expected 0 to ", kHighestTemperature));
  }
  if (tokens_.english_only && options_.task == SpeechTask::kTranslate) {
    throw bad("this whisper was made for English alone and does not translate");
  }
  const Language* english = find_language("en");
  if (options_.language.empty()) return tokens_.english_only ? english : nullptr;
  const Language* language = find_language(options_.language);
  const bool known =
      language && (tokens_.english_only ? language == english : tokens_.token_of(language->code).has_value());
  if (known) return language;
  std::string codes;
  for (const std::string& code : on_.facts_.languages) codes += cat(codes.empty() ? "" : ", ", code);
  throw bad(cat("the language '", options_.language, "' is not one of those this whisper knows: ", codes));
}

bool WhisperRecognizer::Run::fill() {
  const size_t there = window_.size(), wanted = static_cast<size_t>(window_samples_);
  if (!over_ && there < wanted) {
    window_.resize(wanted);
    const int64_t got = sound_.read(std::span(window_).subspan(there));
    window_.resize(there + static_cast<size_t>(got));
    over_ = window_.size() < wanted;
  }
  return !window_.empty();
}

void WhisperRecognizer::Run::advance(int64_t samples) {
  samples = std::clamp<int64_t>(samples, 1, static_cast<int64_t>(window_.size()));
  window_.erase(window_.begin(), window_.begin() + samples);
  begin_ += samples;
}

bool WhisperRecognizer::Run::somebody_speaks() const {
  return !find_speech(window_, std::make_unique<EnergyScorer>(), SegmentOptions::for_energy()).empty();
}

void WhisperRecognizer::Run::pass_over_silence() {
  const auto all = static_cast<int64_t>(window_.size());
  advance(over_ ? all : all - std::min(kKeptOfSilence, all / 4));
  wanted_ = callback_({.done = static_cast<double>(begin_) / kSamplesPerSecond, .text = {}});
}

void WhisperRecognizer::Run::hear_window() {
  if (options_.skips_silence && !somebody_speaks()) return pass_over_silence();
  if (windows_ > 0) on_.use_large_pages();
  listen();
  const WhisperDecision made = write();
  if (made.is_silence) return pass_over_silence();
  take_text(made);
}

// The text of the window, in passes with those of other recordings.
WhisperDecision WhisperRecognizer::Run::write() {
  WhisperSearchOptions first;
  first.temperature = options_.temperature;
  first.beams = options_.beams;
  first.draws = kDraws;
  first.seed = options_.seed;
  first.stream = windows_++;
  WhisperAttempts attempts(on_.tokenizer_, tokens_, first);
  const auto task = std::make_shared<WhisperTask>(
      *on_.model_, on_.rules_, encoded_, make_prompt(), attempts.options(),
      [&](const WhisperText& text, float no_speech) { return attempts.judge(text, no_speech); });
  on_.run(task);
  task->check();
  result_.took.prompt += task->prompt_seconds();
  result_.took.decoder += task->decode_seconds();
  return attempts.decision();
}

void WhisperRecognizer::Run::listen() {
  const Whisper& model = *on_.model_;
  const LogMelOptions features{static_cast<int>(model.config().bins), window_samples_};
  const Tensor mel = timed(result_.took.mel, [&] { return log_mel(window_, features); });
  {
    const std::lock_guard lock(compute_mutex());
    const Tensor encoded = timed(result_.took.encoder, [&] { return model.encoder().encode(mel); });
    encoded_ = timed(result_.took.prompt, [&] { return model.decoder().state_for(encoded, DType::kF16); });
  }
  if (language_) return;
  const auto task = std::make_shared<WhisperLanguageTask>(on_.rules_, encoded_);
  on_.run(task);
  language_ = tokens_.languages[task->found()].language;
}

size_t WhisperRecognizer::Run::most_previous_tokens() const {
  return static_cast<size_t>(on_.model_->decoder().facts().max_context / 2 - 1);
}

std::vector<int32_t> WhisperRecognizer::Run::start_tokens() const {
  if (tokens_.english_only) return {tokens_.start};
  return {tokens_.start, *tokens_.token_of(language_->code),
          options_.task == SpeechTask::kTranslate ? tokens_.translate : tokens_.transcribe};
}

WhisperPrompt WhisperRecognizer::Run::make_prompt() const {
  std::vector<int32_t> prompt;
  if (const size_t count = std::min(previous_.size(), most_previous_tokens()); count > 0) {
    prompt.push_back(tokens_.previous);
    prompt.insert(prompt.end(), previous_.end() - static_cast<ptrdiff_t>(count), previous_.end());
  }
  const size_t start = prompt.size();
  const std::vector<int32_t> begin = start_tokens();
  prompt.insert(prompt.end(), begin.begin(), begin.end());
  const bool fits = begin_ == 0 && over_;  // longer sound needs times to go from window to window
  if (options_.times == TimeDetail::kNone && fits) prompt.push_back(tokens_.no_times);
  return {std::move(prompt), start};
}

}  // namespace wick
