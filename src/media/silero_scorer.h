#pragma once

#include <array>
#include <memory>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "media/voice_activity.h"
#include "tensor/tensor.h"

namespace wick {

// A convolution over time with kernels of 3, padded by 1.
struct SileroConv {
  int64_t in = 0, out = 0, stride = 1;
  std::vector<float> weight;  // [out, in, 3]
  std::vector<float> bias;    // [out]
};

// The weights of Silero's voice detector (v5 and v6 at 16 kHz), shared between scorers.
struct SileroWeights {
  std::vector<float> spectrum;  // [258, 256]: 129 cosines, then 129 sines, under a window
  std::array<SileroConv, 4> convs;
  std::vector<float> gates;       // [512, 256]: input and hidden state side by side; input, forget, cell, output gate
  std::vector<float> gates_bias;  // [512]
  std::vector<float> output;      // [128]
  float output_bias = 0;

  // `get` gives the tensors of silero_vad_16k.safetensors by name. Throws Error(kBadFile) when a shape is not right.
  static std::shared_ptr<const SileroWeights> load(FunctionRef<Tensor(std::string_view name)> get);
};

// One probability for every 32 ms, from them, the 4 ms before and a state that goes on.
class SileroScorer : public VoiceScorer {
 public:
  explicit SileroScorer(std::shared_ptr<const SileroWeights> weights);
  int64_t window() const override { return 512; }
  float score(std::span<const float> samples) override;
  void reset() override;

 private:
  std::shared_ptr<const SileroWeights> weights_;
  std::vector<float> context_;  // the last 64 samples of the window before
  std::vector<float> hidden_, cell_;
};

}  // namespace wick
