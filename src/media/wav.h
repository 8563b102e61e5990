#pragma once

#include <memory>

#include "media/sample_source.h"

namespace wick {

// RIFF and RF64 files with PCM of 8, 16, 24 or 32 bits or floats of 32 or 64, plain or extensible.
//
// Layout: "RIFF" | u32 size | "WAVE" | chunks: 4-character id, u32 size, that many bytes and one more if odd. "fmt "
// comes before "data". RF64 has the sizes that do not fit 32 bits in a chunk "ds64" at its front.
// Sizes of recordings that were piped or broken off are 0, 0xFFFFFFFF or too large: then sound goes to the end.
bool is_wav(ByteInput& input);
// Null when the samples are of another kind (ADPCM, A-law, ...), with the input where it was. Throws Error(kBadFile).
std::unique_ptr<SampleSource> open_wav(ByteInput& input);
// What `open_wav` gave null for, for messages: "WAV format 0x0011".
std::string wav_codec_name(ByteInput& input);

}  // namespace wick
