#pragma once

#include <array>
#include <memory>
#include <string>
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

// The weights of Silero's voice detector (v5 and v6), shared between scorers. There is one network for 16 kHz and one
// for 8 kHz, which hears half as many samples at a time.
struct SileroWeights {
  int64_t transform = 256;      // samples of a spectrum: 256 at 16 kHz, 128 at 8 kHz
  std::vector<float> spectrum;  // [transform + 2, transform]: cosines, then sines, under a window
  std::array<SileroConv, 4> convs;
  std::vector<float> gates;       // [512, 256]: input and hidden state side by side; input, forget, cell, output gate
  std::vector<float> gates_bias;  // [512]
  std::vector<float> output;      // [128]
  float output_bias = 0;

  // `get` gives the tensors by the names of silero_vad_16k.safetensors; their shapes tell the rate. Throws
  // Error(kBadFile) when one is not right.
  static std::shared_ptr<const SileroWeights> load(FunctionRef<Tensor(std::string_view name)> get);

  int sample_rate() const { return transform == 256 ? 16000 : 8000; }
  int64_t hop() const { return transform / 2; }
  int64_t bins() const { return transform / 2 + 1; }
  int64_t context() const { return transform / 4; }  // samples before the window that are heard, too
  int64_t window() const { return 2 * transform; }
};

// What a tensor of SileroWeights::load is called in the ONNX file that Silero publishes: "stft.forward_basis_buffer",
// ...
std::string silero_onnx_name(std::string_view name);

// One probability for every 32 ms, from them, the 4 ms before and a state that goes on.
class SileroScorer : public VoiceScorer {
 public:
  explicit SileroScorer(std::shared_ptr<const SileroWeights> weights);
  int sample_rate() const override { return weights_->sample_rate(); }
  int64_t window() const override { return weights_->window(); }
  float score(std::span<const float> samples) override;
  void reset() override;

 private:
  std::shared_ptr<const SileroWeights> weights_;
  std::vector<float> context_;  // the end of the window before
  std::vector<float> hidden_, cell_;
};

}  // namespace wick
