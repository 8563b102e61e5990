#pragma once

#include <optional>
#include <string>
#include <vector>

#include "server/api/fields.h"
#include "speech/recognition.h"

namespace wick {

struct TranscriptWord {
  std::string word;
  double start = 0, end = 0;
  std::optional<float> probability;
  static const Fields<TranscriptWord>& fields();
};

struct TranscriptSegment {
  int64_t id = 0;
  double start = 0, end = 0;
  std::string text;
  std::vector<int32_t> tokens;
  float temperature = 0;
  std::optional<float> avg_logprob, compression_ratio, no_speech_prob;
  static const Fields<TranscriptSegment>& fields();
};

struct AudioUsage {
  std::string type = "duration";
  int64_t seconds = 0;
  static const Fields<AudioUsage>& fields();
};

// response_format json.
struct TranscriptAnswer {
  std::string text;
  AudioUsage usage;
  static const Fields<TranscriptAnswer>& fields();
};

// response_format verbose_json.
struct VerboseTranscriptAnswer {
  std::string task = "transcribe";
  std::optional<std::string> language;
  double duration = 0;
  std::string text;
  std::vector<TranscriptSegment> segments;
  std::optional<std::vector<TranscriptWord>> words;
  AudioUsage usage;
  static const Fields<VerboseTranscriptAnswer>& fields();
};

// One event of a stream.
struct TranscriptEvent {
  std::string type;  // transcript.text.delta, transcript.text.segment, transcript.text.done
  std::optional<std::string> delta, text;
  std::optional<int64_t> id;
  std::optional<double> start, end;
  std::optional<AudioUsage> usage;
  static const Fields<TranscriptEvent>& fields();
};

TranscriptSegment transcript_segment(const RecognizedSegment& segment, int64_t id);
std::vector<TranscriptWord> transcript_words(const RecognizedSegment& segment);
AudioUsage audio_usage(const Recognition& recognition);
VerboseTranscriptAnswer verbose_transcript(const Recognition& recognition, SpeechTask task, bool with_words);

}  // namespace wick
