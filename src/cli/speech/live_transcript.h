#pragma once

#include <memory>

#include "cli/terminal/interrupt.h"
#include "speech/recognizer.h"

namespace wick {

// Writes down sound while it comes: finished segments as lines on standard output; on a terminal the partial text of
// the one that is going on stands below them. Returns the exit code.
int transcribe_live(const std::shared_ptr<const SpeechRecognizer>& recognizer, const RecognizeOptions& options,
                    AudioReader& sound, const InterruptWatch& watch);

}  // namespace wick
