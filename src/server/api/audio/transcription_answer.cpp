#include "server/api/audio/transcription_answer.h"

#include <cmath>

#include "base/ascii.h"
#include "speech/languages.h"
#include "speech/subtitles.h"

namespace wick {
namespace {

// "english" for "en", as OpenAI spells it.
std::string language_name(const std::string& code) {
  const Language* language = find_language(code);
  return lower_ascii(language ? language->name : code);
}

}  // namespace

const Fields<TranscriptWord>& TranscriptWord::fields() {
  using R = TranscriptWord;
  static const Fields<R> fields = Fields<R>("TranscriptWord", BodyUse::kResponse)
                                      .add("word", &R::word, "The word.")
                                      .add("start", &R::start, "In seconds.")
                                      .add("end", &R::end, "In seconds.")
                                      .add("probability", &R::probability, "How sure the model is of it.");
  return fields;
}

const Fields<TranscriptSegment>& TranscriptSegment::fields() {
  using R = TranscriptSegment;
  static const Fields<R> fields =
      Fields<R>("TranscriptSegment", BodyUse::kResponse)
          .add("id", &R::id, "Counts from 0.")
          .add("start", &R::start, "In seconds.")
          .add("end", &R::end, "In seconds.")
          .add("text", &R::text, "What is said.")
          .add("tokens", &R::tokens, "What the model wrote.")
          .add("temperature", &R::temperature, "That it was drawn with.")
          .add("avg_logprob", &R::avg_logprob, "Mean log-probability of the tokens.")
          .add("compression_ratio", &R::compression_ratio, "How many times smaller compression makes the text.")
          .add("no_speech_prob", &R::no_speech_prob, "Probability that nobody speaks.");
  return fields;
}

const Fields<AudioUsage>& AudioUsage::fields() {
  using R = AudioUsage;
  static const Fields<R> fields = Fields<R>("AudioUsage", BodyUse::kResponse)
                                      .add("type", &R::type, "duration.")
                                      .add("seconds", &R::seconds, "Of sound, rounded up.");
  return fields;
}

const Fields<TranscriptAnswer>& TranscriptAnswer::fields() {
  using R = TranscriptAnswer;
  static const Fields<R> fields = Fields<R>("Transcription", BodyUse::kResponse)
                                      .add("text", &R::text, "What is said.")
                                      .add("usage", &R::usage, "What it took.");
  return fields;
}

const Fields<VerboseTranscriptAnswer>& VerboseTranscriptAnswer::fields() {
  using R = VerboseTranscriptAnswer;
  static const Fields<R> fields = Fields<R>("VerboseTranscription", BodyUse::kResponse)
                                      .add("task", &R::task, "transcribe or translate.")
                                      .add("language", &R::language, "What is spoken.")
                                      .nullable()
                                      .add("duration", &R::duration, "Of the sound, in seconds.")
                                      .add("text", &R::text, "What is said.")
                                      .add("segments", &R::segments, "The text with its times.")
                                      .add("words", &R::words, "Its words, when asked for.")
                                      .add("usage", &R::usage, "What it took.");
  return fields;
}

const Fields<TranscriptEvent>& TranscriptEvent::fields() {
  using R = TranscriptEvent;
  static const Fields<R> fields =
      Fields<R>("TranscriptEvent", BodyUse::kResponse)
          .add("type", &R::type, "transcript.text.delta, transcript.text.segment or transcript.text.done.")
          .add("delta", &R::delta, "What is new.")
          .add("text", &R::text, "Of a segment, or all of it at the end.")
          .add("id", &R::id, "Of a segment.")
          .add("start", &R::start, "Of a segment, in seconds.")
          .add("end", &R::end, "Of a segment, in seconds.")
          .add("usage", &R::usage, "At the end: what it took.");
  return fields;
}

TranscriptSegment transcript_segment(const RecognizedSegment& segment, int64_t id) {
  TranscriptSegment out;
  out.id = id;
  out.start = to_milliseconds(segment.begin);
  out.end = to_milliseconds(segment.end);
  out.text = segment.text;
  out.tokens = segment.tokens;
  out.temperature = segment.temperature;
  out.avg_logprob = segment.mean_logprob;
  out.compression_ratio = segment.compression;
  out.no_speech_prob = segment.no_speech;
  return out;
}

std::vector<TranscriptWord> transcript_words(const RecognizedSegment& segment) {
  std::vector<TranscriptWord> words;
  for (const RecognizedWord& word : segment.words) {
    words.push_back({word.text, to_milliseconds(word.begin), to_milliseconds(word.end), word.probability});
  }
  return words;
}

AudioUsage audio_usage(const Recognition& recognition) {
  AudioUsage usage;
  usage.seconds = static_cast<int64_t>(std::ceil(recognition.seconds));
  return usage;
}

VerboseTranscriptAnswer verbose_transcript(const Recognition& recognition, SpeechTask task, bool with_words) {
  VerboseTranscriptAnswer answer;
  if (task == SpeechTask::kTranslate) answer.task = "translate";
  if (!recognition.language.empty()) answer.language = language_name(recognition.language);
  answer.duration = to_milliseconds(recognition.seconds);
  answer.text = recognition.text;
  if (with_words) answer.words.emplace();
  for (const RecognizedSegment& segment : recognition.segments) {
    answer.segments.push_back(transcript_segment(segment, std::ssize(answer.segments)));
    if (!with_words) continue;
    for (TranscriptWord& word : transcript_words(segment)) answer.words->push_back(std::move(word));
  }
  answer.usage = audio_usage(recognition);
  return answer;
}

}  // namespace wick
