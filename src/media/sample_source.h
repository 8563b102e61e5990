#pragma once

#include <memory>
#include <span>

#include "media/audio_reader.h"
#include "media/byte_input.h"

namespace wick {

// Decoded sound as the file has it. Rate and channels may differ from block to block.
struct AudioBlock {
  std::span<const float> samples;  // interleaved; valid until the next block
  int channels = 0;
  int sample_rate = 0;
};

// Throws Error(kIo) when it is; see AudioOptions.
void check_cancelled(const std::function<bool()>& is_cancelled, const std::string& name);

// What AudioReader mixes and resamples: a WAV file, raw samples, or whatever FFmpeg opens.
class SampleSource {
 public:
  virtual ~SampleSource() = default;
  const AudioInfo& info() const { return info_; }
  virtual AudioBlock next() = 0;  // without samples at the end

 protected:
  AudioInfo info_;
};

}  // namespace wick
