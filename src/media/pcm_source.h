#pragma once

#include <cstddef>
#include <vector>

#include "media/sample_source.h"

namespace wick {

// Uncompressed samples from where `input` stands, `bytes` of them or as many as there are. A frame that is cut off at
// the end is left out.
class PcmSource : public SampleSource {
 public:
  PcmSource(ByteInput input, const RawAudio& raw, std::string format, int64_t bytes);
  AudioBlock next() override;

 private:
  ByteInput input_;
  RawAudio raw_;
  int64_t bytes_left_;
  std::vector<std::byte> bytes_;
  std::vector<float> samples_;
};

}  // namespace wick
