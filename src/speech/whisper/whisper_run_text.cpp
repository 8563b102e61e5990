#include <algorithm>
#include <cmath>

#include "base/ascii.h"
#include "media/log_mel.h"
#include "speech/whisper/whisper_alignment.h"
#include "speech/whisper/whisper_run.h"
#include "speech/whisper/whisper_words.h"

// What is made of the text of a window: segments, words, events.
namespace wick {

void WhisperRecognizer::Run::take_text(const WhisperDecision& made) {
  const double window_seconds = static_cast<double>(window_.size()) / kMelSampleRate;
  const WhisperCut cut = cut_at_times(made.text.tokens, tokens_, window_seconds);
  result_.tokens += static_cast<int64_t>(made.text.tokens.size());
  std::vector<TimedWord> words;
  if (options_.times == TimeDetail::kWords) words = timed(result_.took.decoder, [&] { return words_of(made.text); });
  for (const WhisperSegment& part : cut.segments) {
    const std::string text = text_of(part.tokens, on_.tokenizer_, tokens_);
    if (part.begin >= part.end || trimmed(text).empty()) continue;
    previous_.insert(previous_.end(), part.tokens.begin(), part.tokens.end());
    if (wanted_) wanted_ = emit(made, part, text, words);
  }
  if (made.temperature > WhisperLimits::kForgetsAbove) previous_.clear();
  const auto kept = static_cast<ptrdiff_t>(most_previous_tokens());
  if (std::ssize(previous_) > kept) previous_.erase(previous_.begin(), previous_.end() - kept);
  advance(std::llround(cut.next * kMelSampleRate));
}

std::vector<WhisperRecognizer::Run::TimedWord> WhisperRecognizer::Run::words_of(const WhisperText& text) const {
  std::vector<int32_t> said;
  std::vector<float> logprobs;
  std::vector<size_t> places;
  std::vector<WhisperWord> split;
  const bool has_blanks = language_->has_blanks;
  const auto end_run = [&](size_t begin) {  // of text between times, where no word goes on
    for (WhisperWord& word : split_words(std::span(said).subspan(begin), on_.tokenizer_, has_blanks)) {
      word.first += begin;
      split.push_back(std::move(word));
    }
  };
  size_t run = 0;
  for (size_t i = 0; i < text.tokens.size(); ++i) {
    if (!tokens_.is_text(text.tokens[i])) {
      end_run(run);
      run = said.size();
      continue;
    }
    said.push_back(text.tokens[i]);
    logprobs.push_back(text.logprobs[i]);
    places.push_back(i);
  }
  end_run(run);
  if (said.empty()) return {};
  std::vector<int32_t> read = start_tokens();
  const auto first = static_cast<int64_t>(read.size());
  read.push_back(tokens_.no_times);
  read.insert(read.end(), said.begin(), said.end());
  read.push_back(tokens_.end);
  constexpr int64_t kSamplesPerPosition = 2 * kMelHop;
  const auto positions = std::max<int64_t>(static_cast<int64_t>(window_.size()) / kSamplesPerPosition, 1);
  // The row of a token tells where the next one is: rows from the one before the text on.
  const Tensor looks = on_.model_->decoder().cross_attention_weights(read, encoded_, on_.alignment_heads_, positions);
  const std::vector<int64_t> begins = align_rows(looks, first, static_cast<int64_t>(read.size()) - 1);
  std::vector<RecognizedWord> words = time_words(split, begins, logprobs, WhisperTokens::kSecondsPerTime);
  std::vector<TimedWord> made;
  for (size_t i = 0; i < words.size(); ++i) {
    if (!words[i].text.empty()) made.push_back({std::move(words[i]), places[split[i].first]});
  }
  return made;
}

bool WhisperRecognizer::Run::emit(const WhisperDecision& made, const WhisperSegment& part, const std::string& text,
                                  std::span<const TimedWord> words) {
  const double window_begin = static_cast<double>(begin_) / kMelSampleRate;
  RecognizedSegment segment;
  segment.begin = window_begin + part.begin;
  segment.end = window_begin + part.end;
  segment.text = trimmed(text);
  segment.tokens.assign(part.tokens.begin(), part.tokens.end());
  segment.temperature = made.temperature;
  segment.mean_logprob = made.text.mean_logprob();
  segment.no_speech = made.no_speech;
  segment.compression = static_cast<float>(made.compression);
  for (const TimedWord& timed : words) {
    if (timed.token < part.first || timed.token >= part.first + part.tokens.size()) continue;
    segment.words.push_back(timed.word);
    segment.words.back().begin += window_begin;
    segment.words.back().end += window_begin;
  }
  // The blank that a text begins with keeps it apart from the one before.
  const size_t blanks = text.find(segment.text), skipped = result_.text.empty() ? blanks : 0;
  const std::string_view shown = std::string_view(text).substr(skipped, blanks - skipped + segment.text.size());
  result_.text += shown;
  result_.segments.push_back(std::move(segment));
  return callback_({result_.segments.back().end, shown, &result_.segments.back()});
}

}  // namespace wick
