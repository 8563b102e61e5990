#include "speech/whisper/whisper_segments.h"

#include <algorithm>

namespace wick {

WhisperCut cut_at_times(std::span<const int32_t> generated, const WhisperTokens& tokens, double window_seconds) {
  WhisperCut cut;
  cut.next = window_seconds;
  const auto seconds = [&](int32_t time) { return std::min(tokens.seconds(time), window_seconds); };
  const size_t count = generated.size();
  const bool ends_in_time = count > 0 && tokens.is_time(generated[count - 1]);
  const bool ends_in_one = ends_in_time && (count < 2 || !tokens.is_time(generated[count - 2]));
  std::vector<size_t> cuts;
  for (size_t i = 1; i < count; ++i) {
    if (tokens.is_time(generated[i - 1]) && tokens.is_time(generated[i])) cuts.push_back(i);
  }
  if (cuts.empty()) {
    double end = window_seconds;
    for (const int32_t token : generated) {
      if (tokens.is_time(token) && token != tokens.first_time) end = seconds(token);
    }
    if (count > 0) cut.segments.push_back({0, end, generated, 0});
    return cut;
  }
  if (ends_in_one) cuts.push_back(count);  // nothing is said behind it
  size_t begin = 0;
  for (const size_t end : cuts) {
    const auto part = generated.subspan(begin, end - begin);
    cut.segments.push_back({seconds(part.front()), seconds(part.back()), part, begin});
    begin = end;
  }
  const double last = seconds(generated[begin - 1]);
  if (!ends_in_one && last > 0) cut.next = last;
  return cut;
}

}  // namespace wick
