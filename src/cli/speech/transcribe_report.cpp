#include "cli/speech/transcribe_report.h"

#include <fmt/core.h>

#include <iterator>

#include "server/api/audio/transcription_answer.h"
#include "speech/subtitles.h"

namespace wick {
namespace {

using Report = nlohmann::ordered_json;

Report segments_json(const Recognition& recognition) {
  Report list = Report::array();
  for (const RecognizedSegment& segment : recognition.segments) {
    Report entry = TranscriptSegment::fields().write(transcript_segment(segment, std::ssize(list)));
    for (const TranscriptWord& word : transcript_words(segment)) {
      entry["words"].push_back(TranscriptWord::fields().write(word));
    }
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace

Report to_json(const Recognition& recognition, const std::string& file, const RecognizerFacts& facts,
               double wall_seconds) {
  const RecognizeSeconds& took = recognition.took;
  return {{"file", file},
          {"model", facts.label},
          {"language", recognition.language.empty() ? Report() : Report(recognition.language)},
          {"duration", to_milliseconds(recognition.seconds)},
          {"text", recognition.text},
          {"segments", segments_json(recognition)},
          {"timings",
           {{"wall_s", wall_seconds},
            {"mel_s", took.mel},
            {"encoder_s", took.encoder},
            {"prompt_s", took.prompt},
            {"decoder_s", took.decoder},
            {"tokens", recognition.tokens},
            {"times_real_time", wall_seconds > 0 ? recognition.seconds / wall_seconds : 0}}}};
}

std::string speed_text(const Recognition& recognition, double wall_seconds) {
  const RecognizeSeconds& took = recognition.took;
  return fmt::format(
      "{:.1f} s of sound in {:.2f} s, {:.3g} times real time (mel {:.0f} ms, encoder {:.0f} ms, prompt {:.0f} ms, text "
      "{:.0f} ms)",
      recognition.seconds, wall_seconds, wall_seconds > 0 ? recognition.seconds / wall_seconds : 0, took.mel * 1e3,
      took.encoder * 1e3, took.prompt * 1e3, took.decoder * 1e3);
}

}  // namespace wick
