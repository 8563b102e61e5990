#pragma once

#include <memory>
#include <string>

#include "media/audio_reader.h"
#include "media/sample_source.h"

namespace wick {

// Mixes and resamples what a source gives, within the options' limits. `name` is for messages.
std::unique_ptr<AudioReader> mono_reader(std::unique_ptr<SampleSource> source, std::string name,
                                         const AudioOptions& options);

}  // namespace wick
