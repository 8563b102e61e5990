#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace wick {

enum class SpeechTask : uint8_t {
  kTranscribe,  // write down what is said
  kTranslate,   // write it in English
};

// How fine the times are. A model that cannot give them so finely says so.
enum class TimeDetail : uint8_t {
  kNone,  // of the whole, as far as a model that writes times among its text can go on without them
  kSegments,
  kWords,
};

struct RecognizeOptions {
  std::string language;  // "en" or "English"; empty: the model finds out
  std::string context;   // names and rare words that are likely to be said, or what was said before; any text
  SpeechTask task = SpeechTask::kTranscribe;
  TimeDetail times = TimeDetail::kSegments;
  // 0: the likeliest, and more where the model falls into repetition. Above: drawn, the same again with the same seed.
  float temperature = 0;
  uint64_t seed = 0;
  int64_t beams = 1;          // ways that are followed at once, for models that search
  double piece_seconds = 0;   // longest piece that is given to the model at a time; 0: what suits it
  bool skips_silence = true;  // what no voice is in is not given to the model
};

// Seconds from the beginning of the sound.
struct RecognizedWord {
  double begin = 0, end = 0;
  std::string text;  // as it stands in the segment's text, without spaces around it
  std::optional<float> probability;
};

struct RecognizedSegment {
  double begin = 0, end = 0;
  std::string text;                   // without spaces around it
  std::vector<RecognizedWord> words;  // with TimeDetail::kWords
  std::vector<int32_t> tokens;
  float temperature = 0;
  // What the model thinks of it, where it can tell: means of the tokens' log-probabilities, the probability that nobody
  // speaks, and how many times smaller the text becomes by compression (repetition shows in it).
  std::optional<float> mean_logprob, no_speech, compression;
};

// Moves all times of a segment by so many seconds.
inline void shift(RecognizedSegment& segment, double seconds) {
  segment.begin += seconds;
  segment.end += seconds;
  for (RecognizedWord& word : segment.words) {
    word.begin += seconds;
    word.end += seconds;
  }
}

// Seconds of computing.
struct RecognizeSeconds {
  double mel = 0, encoder = 0, prompt = 0, decoder = 0;
};

struct Recognition {
  std::string language;  // "en", or a name where there is no code; empty: nobody speaks, or the model does not say
  std::string text;
  double seconds = 0;  // of sound
  std::vector<RecognizedSegment> segments;
  RecognizeSeconds took;
  int64_t tokens = 0;  // generated
};

}  // namespace wick
