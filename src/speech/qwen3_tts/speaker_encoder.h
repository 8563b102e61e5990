#pragma once

#include <span>
#include <string>
#include <vector>

#include "models/weight_loader.h"
#include "speech/qwen3_tts/tts_config.h"

namespace wick {

// A speaker's voice as a vector (x-vector), from some seconds of speech. Immutable.
class SpeakerEncoder {
 public:
  SpeakerEncoder(const SpeakerEncoderConfig& config, WeightLoader& loader);

  // Mono samples at the config's rate to f32 [output]. Throws Error(kInvalidArgument) for fewer than a few windows.
  Tensor operator()(std::span<const float> samples) const;
  // The steps, for tests: f32 [frames, bins], and what becomes of it.
  Tensor log_mel(std::span<const float> samples) const;
  Tensor embed(const Tensor& mel) const;

 private:
  struct Conv {
    Tensor weight, bias;  // [out, in, taps], [out]
    int64_t dilation = 1;
    Tensor operator()(const Tensor& x) const;  // [1, in, time], mirrored at both ends
  };
  struct Block {
    Conv first, last, squeeze, excite;
    std::vector<Conv> groups;
  };
  static Conv load_conv(WeightLoader& loader, const std::string& name, int64_t out, int64_t in, int64_t taps,
                        int64_t dilation = 1);
  Tensor run(const Block& block, const Tensor& x) const;

  SpeakerEncoderConfig config_;
  Device device_;
  Tensor transform_;  // [window, 2 * points]: a windowed Fourier transform
  Tensor filters_;    // [points, bins]
  Conv first_;
  std::vector<Block> blocks_;
  Conv mix_, attention_in_, attention_out_, out_;
};

}  // namespace wick
