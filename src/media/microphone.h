#pragma once

#include <memory>

#include "media/audio_reader.h"

namespace wick {

// The system's default microphone through ALSA (libasound), which is loaded when first asked for: mono sound until the
// program ends. Throws Error(kUnsupported) where the library is not there, Error(kIo) with its reason where there is no
// microphone.
std::unique_ptr<AudioReader> open_microphone(const AudioOptions& options = {});

}  // namespace wick
