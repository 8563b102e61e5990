#include "cli/speech/live_transcript.h"

#include <unistd.h>

#include <array>
#include <iostream>
#include <string>

#include "base/text.h"
#include "cli/terminal/terminal.h"
#include "speech/speech_stream.h"

namespace wick {
namespace {

constexpr size_t kPortion = 1600;  // samples: what a microphone gives in 0.1 s

// The end of a long partial text is what is new.
std::string last_columns(std::string_view text, int width) {
  size_t from = 0;
  while (display_width(text.substr(from)) > width) {
    do ++from;
    while (from < text.size() && (static_cast<unsigned char>(text[from]) & 0xC0) == 0x80);
  }
  return std::string(text.substr(from));
}

}  // namespace

int transcribe_live(const std::shared_ptr<const SpeechRecognizer>& recognizer, const RecognizeOptions& options,
                    AudioReader& sound, const InterruptWatch& watch) {
  const Terminal terminal = Terminal::of_stdout();
  const bool shows_partial = isatty(STDOUT_FILENO) != 0;
  const auto show = [&](const StreamEvent& event) {
    if (shows_partial) std::cout << "\r\033[K";
    if (event.kind == StreamEvent::Kind::kSegment && !event.text.empty()) std::cout << event.text << "\n";
    if (event.kind == StreamEvent::Kind::kPartial && shows_partial) {
      std::cout << terminal.paint(last_columns(event.text, terminal.width - 1), Colour::kDim);
    }
    std::cout << std::flush;
  };
  SpeechStream stream(recognizer, options);
  std::array<float, kPortion> portion;
  while (const int64_t got = watch.signal() == 0 ? sound.read(portion) : 0) {
    stream.push(std::span(portion).first(static_cast<size_t>(got)), show);
  }
  stream.finish(show);  // what was said before Ctrl-C counts, too
  return watch.signal() ? 128 + watch.signal() : 0;
}

}  // namespace wick
