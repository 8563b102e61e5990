#include "cli/transcribe_report.h"

#include <fmt/core.h>

#include <cmath>

namespace wick {
namespace {

using Report = nlohmann::ordered_json;

double rounded(double seconds) { return std::round(seconds * 1000) / 1000; }

void set(Report& report, const char* name, const std::optional<float>& value) {
  if (value) report[name] = *value;
}

}  // namespace

Report segments_json(const Recognition& recognition) {
  Report list = Report::array();
  for (const RecognizedSegment& segment : recognition.segments) {
    Report entry = {{"id", list.size()},    {"start", rounded(segment.begin)}, {"end", rounded(segment.end)},
                    {"text", segment.text}, {"tokens", segment.tokens},        {"temperature", segment.temperature}};
    set(entry, "avg_logprob", segment.mean_logprob);
    set(entry, "compression_ratio", segment.compression);
    set(entry, "no_speech_prob", segment.no_speech);
    if (!segment.words.empty()) entry["words"] = Report::array();
    for (const RecognizedWord& word : segment.words) {
      Report one = {{"word", word.text}, {"start", rounded(word.begin)}, {"end", rounded(word.end)}};
      set(one, "probability", word.probability);
      entry["words"].push_back(std::move(one));
    }
    list.push_back(std::move(entry));
  }
  return list;
}

Report to_json(const Recognition& recognition, const std::string& file, const RecognizerFacts& facts,
               double wall_seconds) {
  const RecognizeSeconds& took = recognition.took;
  return {{"file", file},
          {"model", facts.label},
          {"language", recognition.language.empty() ? Report() : Report(recognition.language)},
          {"duration", rounded(recognition.seconds)},
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
